internal import Foundation
internal import Glibc

/// The PostgreSQL programs of this machine, and the user that may run them.
package struct PostgresInstallation: Sendable {
  /// The folder of `initdb`, `postgres` and `psql`.
  package let binaries: String
  /// The user to run as, when this process is root, whom PostgreSQL refuses; else nil.
  package let user: String?

  /// Finds the newest installation: `POSTGRES_BIN`, Debian's folders, `pg_config --bindir`, PATH.
  ///
  /// - Throws: `SupervisionError.unavailable` when there is none, or root finds no user to run it as.
  package static func find() throws -> PostgresInstallation {
    guard let binaries = candidates().first(where: isComplete) else {
      throw SupervisionError.unavailable(
        what: "PostgreSQL", hint: "install it (apt-get install postgresql), or name its folder in POSTGRES_BIN")
    }
    return PostgresInstallation(binaries: binaries, user: try serverUser())
  }

  /// The path of one of its programs.
  package func program(_ name: String) -> String { "\(binaries)/\(name)" }

  private static func candidates() -> [String] {
    let environment = ProcessInfo.processInfo.environment
    let debian = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
    let newestFirst = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(debian)/\($0)/bin" }
    let path = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
    return [environment["POSTGRES_BIN"]].compactMap { $0 } + newestFirst + configured(path) + path
  }

  /// What `pg_config` says; it is asked only where it exists.
  private static func configured(_ path: [String]) -> [String] {
    guard let program = path.map({ "\($0)/pg_config" }).first(where: FileManager.default.isExecutableFile) else {
      return []
    }
    return (try? ChildProcess.run(ChildProcess.Command(program, ["--bindir"]), timeoutMilliseconds: 5_000)) ?? []
  }

  private static func isComplete(_ folder: String) -> Bool {
    ["initdb", "postgres", "psql"].allSatisfy { FileManager.default.isExecutableFile(atPath: "\(folder)/\($0)") }
  }

  private static func serverUser() throws -> String? {
    guard geteuid() == 0 else { return nil }
    guard let user = ["postgres", "nobody"].first(where: { SystemUser(named: $0) != nil }) else {
      throw SupervisionError.unavailable(
        what: "a user for PostgreSQL", hint: "it refuses to run as root, and neither postgres nor nobody exists")
    }
    return user
  }
}
