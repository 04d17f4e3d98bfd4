internal import Foundation
internal import Glibc

/// The files of a private PostgreSQL server.
///
/// `data` is the server's own, as it belongs to the user that the server runs as; log and password stay ours.
package struct PostgresDataFolder: Sendable {
  /// What holds them all.
  package let folder: String
  /// Whose programs work on them.
  package let installation: PostgresInstallation

  package init(folder: String, installation: PostgresInstallation) {
    self.folder = folder
    self.installation = installation
  }

  /// The server's own folder.
  package var dataPath: String { "\(folder)/data" }
  /// Where the unix socket goes if the path is short enough.
  var socketPath: String { "\(folder)/socket" }
  var logPath: String { "\(folder)/postgres.log" }
  /// The file with the password for TCP connections.
  package var passwordPath: String { "\(folder)/password" }
  private var unfinishedPath: String { "\(folder)/data.unfinished" }

  /// Makes the data, with a password for TCP connections, unless they are there.
  func prepare() throws {
    try makeFolder()
    try checkReachable()
    let manager = FileManager.default
    if manager.fileExists(atPath: passwordPath), manager.fileExists(atPath: "\(dataPath)/PG_VERSION") { return }
    try initialize((0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined())
  }

  /// Removes the traces of a server that was killed, so that the number of its process, which may be another's by
  /// now, does not keep the next from starting.
  ///
  /// - Throws: `SupervisionError.failed` when a server still runs on these data.
  func clearForStart() throws {
    let lockPath = "\(dataPath)/postmaster.pid"
    guard let text = FileManager.default.contents(atPath: lockPath).map({ String(decoding: $0, as: UTF8.self) }),
      let first = text.split(separator: "\n").first, let owner = Int32(first)
    else { return }
    let workingFolder = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(owner)/cwd")
    if workingFolder == dataPath {
      throw SupervisionError.failed(
        program: "postgres", reason: "runs already on \(dataPath), as process \(owner)", output: "")
    }
    if ProcessTable.entry(owner) != nil { try? FileManager.default.removeItem(atPath: lockPath) }
  }

  /// Makes the folder for the unix socket anew, without the lock file of a server that was killed.
  func makeSocketFolder(_ path: String) throws {
    try? FileManager.default.removeItem(atPath: path)
    guard unsafe mkdir(path, 0o700) == 0 else {
      throw SupervisionError.system(operation: "making \(path)", code: errno)
    }
    if path != socketPath { unsafe chmod(URL(fileURLWithPath: path).deletingLastPathComponent().path, 0o711) }
    try giveToServer(path)
  }

  /// Lets the server's user own a path.
  package func giveToServer(_ path: String) throws {
    guard let user = installation.user.flatMap(SystemUser.init(named:)) else { return }
    guard unsafe chown(path, user.userIdentifier, user.groupIdentifier) == 0 else {
      throw SupervisionError.system(operation: "giving \(path) to the user of PostgreSQL", code: errno)
    }
  }

  /// Makes the folder that holds everything; fine when it is there.
  package func makeFolder() throws {
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch {
      throw SupervisionError.unavailable(what: folder, hint: "it cannot be made: \(error.localizedDescription)")
    }
    // The server's user must be able to pass through, but need not see what is there.
    if installation.user != nil { unsafe chmod(folder, 0o711) }
  }

  /// Sees whether the server's user can get to the folder at all.
  private func checkReachable() throws {
    guard let user = installation.user else { return }
    let test = ChildProcess.Command("test", ["-x", folder], workingDirectory: "/", user: user)
    guard try ChildProcess(test).waitForExit().isSuccess else {
      throw SupervisionError.unavailable(
        what: folder,
        hint: "as root, PostgreSQL runs as the user \(user), who may not enter it; use a folder that \(user) can reach")
    }
  }

  /// Runs `initdb` beside the final place and moves the result there, so a killed one leaves nothing half made.
  private func initialize(_ password: String) throws {
    let manager = FileManager.default
    try? manager.removeItem(atPath: unfinishedPath)
    try? manager.removeItem(atPath: dataPath)
    guard unsafe mkdir(unfinishedPath, 0o700) == 0 else {
      throw SupervisionError.system(operation: "making \(unfinishedPath)", code: errno)
    }
    try giveToServer(unfinishedPath)
    let passwordFile = try TemporaryFolder(prefix: "pw")
    try write(password, to: passwordFile.path("password"))
    try giveToServer(passwordFile.path)
    try giveToServer(passwordFile.path("password"))
    let arguments = [
      "--pgdata", unfinishedPath, "--username", PrivatePostgres.administrator, "--encoding", "UTF8", "--locale", "C",
      "--auth-local", "trust", "--auth-host", "scram-sha-256", "--pwfile", passwordFile.path("password"), "--no-sync",
    ]
    try ChildProcess.run(
      ChildProcess.Command(
        installation.program("initdb"), arguments, environment: ["LC_ALL": "C", "PGDATA": nil], workingDirectory: "/",
        user: installation.user))
    try write(password, to: passwordPath)
    guard unsafe rename(unfinishedPath, dataPath) == 0 else {
      throw SupervisionError.system(operation: "moving the new data to \(dataPath)", code: errno)
    }
  }

  private func write(_ text: String, to path: String) throws {
    guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8)), unsafe chmod(path, 0o600) == 0 else {
      throw SupervisionError.system(operation: "writing \(path)", code: errno)
    }
  }
}
