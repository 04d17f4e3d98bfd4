import Foundation
import Glibc
import LocalProcesses
import Migrations
import Postgres
import Runtime
import Testing

/// The logins that `deploy/postgres/10-logins.sh` makes of what `deploy/secrets` made.
@Suite("Logins in containers")
struct LoginsTests {
  private static let programs: [DatabaseUser] = [
    .adSelection, .impressionTracking, .clickTracking, .billing, .console, .command,
  ]

  /// The address of a program as the containers get it, on a server of this machine.
  private static func address(_ user: DatabaseUser, _ secrets: String, port: Int) throws -> String {
    let name = "database_url_" + user.rawValue.replacing("-", with: "_")
    return try String(contentsOfFile: "\(secrets)/\(name)", encoding: .utf8)
      .replacing("@postgres:5432/handbill", with: "@127.0.0.1:\(port)/handbill")
      .replacing("/run/secrets", with: secrets)
  }

  /// A server of this machine with the certificate of the containers', of which it needs a copy of its own.
  private static func startServer(_ folder: TemporaryFolder, _ secrets: String, port: Int) throws -> PrivatePostgres {
    let certificate = folder.path("certificate")
    let server = try PrivatePostgres(
      .init(
        folder: folder.path, port: port,
        settings: ["ssl": "on", "ssl_cert_file": certificate, "ssl_key_file": certificate]))
    let owner = geteuid() == 0 ? ["-o", "postgres"] : []
    try ChildProcess.run(
      .init("install", owner + ["-m", "600", "\(secrets)/postgres_certificate", certificate]))
    try server.startAndWait()
    return server
  }

  private static func makeLogins(_ server: PrivatePostgres, _ secrets: String) throws {
    let socket = URL(fileURLWithPath: server.socketPath)
    try ChildProcess.run(
      .init(
        "sh", [PackageRoot.path("deploy/postgres/10-logins.sh")],
        environment: [
          "SECRETS": secrets, "POSTGRES_USER": PrivatePostgres.administrator, "POSTGRES_DB": "handbill",
          "PGHOST": socket.deletingLastPathComponent().path, "PGPORT": socket.pathExtension,
        ]))
  }

  @Test("each program logs in by TLS with its own password, and is a member of its own role alone")
  func logins() async throws {
    try await onOwnThread {
      let (folder, secretsFolder) = (try TemporaryFolder(), try TemporaryFolder())
      let port = try FreePort.find()
      let secrets = secretsFolder.path("secrets")
      try ChildProcess.run(.init(PackageRoot.path("deploy/secrets"), [secrets]))
      let server = try Self.startServer(folder, secrets, port: port)
      defer { server.stopAndWait() }
      let owner = try PostgresConnection(PostgresConfiguration(try server.createDatabaseAndWait("handbill")))
      defer { owner.close() }
      try Self.makeLogins(server, secrets)
      _ = try MigrationRunner().up(owner)
      // Run once more it changes nothing, as after a new password.
      try Self.makeLogins(server, secrets)
      for user in Self.programs {
        let connection = try PostgresConnection(
          PostgresConfiguration(Self.address(user, secrets, port: port)))
        defer { connection.close() }
        let row = try #require(
          try connection.query(
            """
            SELECT rolname::text, ARRAY(SELECT roleid::regrole::text FROM pg_auth_members WHERE member = oid ORDER BY 1),
              (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid())
            FROM pg_roles WHERE rolname = current_user
            """
          ).first)
        #expect(try row.decode(0, String.self) == user.login)
        #expect(try row.decode(1, [String].self) == [user.role] + (user == .command ? ["pg_read_all_stats"] : []))
        #expect(try row.decode(2, Bool.self), "without TLS")
        try MigrationRunner().check(connection)
      }
    }
  }
}
