import Foundation
import LocalProcesses

extension PrivatePostgres: LocalServer {
  private var dataFolder: PostgresDataFolder {
    get throws { PostgresDataFolder(folder: configuration.folder, installation: try PostgresInstallation.find()) }
  }

  /// The number of the server's first process; nil while it does not run.
  package var processIdentifier: Int32? {
    guard isRunning, let path = try? "\(dataFolder.dataPath)/postmaster.pid",
      let text = try? String(contentsOfFile: path, encoding: .utf8)
    else { return nil }
    return text.split(separator: "\n").first.flatMap { Int32($0) }
  }

  /// The URL of a database by TCP; nil without a TCP port.
  package func tcpURL(database: String = "postgres") throws -> String? {
    guard let port = configuration.port else { return nil }
    let password = try String(contentsOfFile: dataFolder.passwordPath, encoding: .utf8)
    return "postgresql://\(Self.administrator):\(password)@127.0.0.1:\(port)/\(database)"
  }

  /// Makes a database and returns its URL.
  package func createDatabase(_ name: String) async throws -> String {
    try await onOwnThread { try self.createDatabaseAndWait(name) }
  }

  /// Runs SQL with psql, and returns the rows as lines with fields parted by `|`.
  @discardableResult
  package func execute(_ sql: String, database: String = "postgres") async throws -> [String] {
    try await onOwnThread { try self.executeAndWait(sql, database: database) }
  }
}
