import Foundation
import Glibc
import LocalProcesses

extension PrivatePostgres {
  /// A standby of this running server, which follows it once it is started; its data are a copy of this one's.
  ///
  /// `SELECT pg_promote()` makes it a server of its own. Blocks.
  /// - Throws: `SupervisionError` when the copy cannot be made.
  package func makeStandby(folder: String) throws -> PrivatePostgres {
    let installation = try PostgresInstallation.find()
    let target = PostgresDataFolder(folder: folder, installation: installation)
    try target.copy(from: self)
    return try PrivatePostgres(Configuration(folder: folder, settings: configuration.settings))
  }
}

extension PrivatePostgres {
  /// Makes a standby that has ended a server of its own, as it was then: what is left is like a backup of that moment.
  package func detach() throws {
    let folder = PostgresDataFolder(folder: configuration.folder, installation: try PostgresInstallation.find())
    try FileManager.default.removeItem(atPath: "\(folder.dataPath)/standby.signal")
  }
}

extension PostgresDataFolder {
  /// Fills the folder with the data of a running server, and with where to follow it.
  fileprivate func copy(from server: PrivatePostgres) throws {
    try makeFolder()
    guard mkdir(dataPath, 0o700) == 0 else {
      throw SupervisionError.system(operation: "making \(dataPath)", code: errno)
    }
    try giveToServer(dataPath)
    let source = URL(fileURLWithPath: server.socketPath)
    let port = source.pathExtension
    let arguments = [
      "--pgdata", dataPath, "--write-recovery-conf", "--wal-method", "stream", "--checkpoint", "fast", "--no-sync",
      "--host", source.deletingLastPathComponent().path, "--port", port, "--username", PrivatePostgres.administrator,
    ]
    try ChildProcess.run(
      ChildProcess.Command(
        installation.program("pg_basebackup"), arguments, environment: ["LC_ALL": "C"], workingDirectory: "/",
        user: installation.user))
    // A copy of another server's data has its passwords too.
    let other = PostgresDataFolder(folder: server.configuration.folder, installation: installation)
    try FileManager.default.copyItem(atPath: other.passwordPath, toPath: passwordPath)
  }
}
