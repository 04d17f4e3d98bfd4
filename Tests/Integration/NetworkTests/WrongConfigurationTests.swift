import Foundation
import LocalProcesses
import Postgres
import TestServers
import TestServices
import Testing

extension WholeNetwork {
  /// Fault 32: what a service does that was given something wrong.
  @Suite struct WrongConfigurationTests {
    static let services = [
      "handbill-ad-selection", "handbill-impression-tracking", "handbill-click-tracking", "handbill-billing",
      "handbill-console",
    ]
    private static let secret = "hunter2-is-not-to-be-shown"

    private func run(_ service: String, _ environment: [String: String?]) throws -> (
      status: LocalProcesses.ExitStatus?, told: String
    ) {
      let folder = try TemporaryFolder(prefix: "hbc")
      let output = folder.path("output")
      let process = try start(service, environment, output: .file(output))
      let status = process.waitForExit(timeoutMilliseconds: 60_000)
      if status == nil { process.terminate(graceMilliseconds: 0) }
      return (status, try String(contentsOfFile: output, encoding: .utf8))
    }

    private func start(
      _ service: String, _ environment: [String: String?], output: ChildProcess.Output
    ) throws -> ChildProcess {
      // Nothing of whoever runs the tests.
      var all: [String: String?] = Dictionary(
        ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("HANDBILL_") || $0 == "DATABASE_URL" }
          .map { ($0, nil) }, uniquingKeysWith: { first, _ in first })
      all.merge(environment) { $1 }
      return try ChildProcess(
        .init(Programs.own.path(service), environment: all, output: output, errorOutput: output))
    }

    /// All that a service needs to know, with a broker that is away.
    private func settings(database: String) -> [String: String?] {
      [
        "HANDBILL_DATABASE_URL": database, "HANDBILL_TOKEN_KEYS": TestNetwork.keys, "HANDBILL_ADMIN_PORT": "0",
        "HANDBILL_CONSOLE_PORT": "0", "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1", "SWIFT_BACKTRACE": "enable=no",
      ]
    }

    @Test("Everything wrong is named at once, exit 78, and no secret is shown", arguments: services)
    func wrong(_ service: String) throws {
      let (status, told) = try run(
        service,
        [
          "HANDBILL_DATABASE_URL": "mysql://user:\(Self.secret)@host/db", "HANDBILL_TOKEN_KEYS": "1:\(Self.secret)",
          "HANDBILL_ADMIN_PORT": "99999", "HANDBILL_LOG_LEVEL": "loud",
        ])
      #expect(status == .exited(78), "\(told)")
      for name in ["HANDBILL_DATABASE_URL", "HANDBILL_ADMIN_PORT", "HANDBILL_LOG_LEVEL"] {
        #expect(told.contains(name), "\(name) is not named: \(told)")
      }
      // The console has no need of keys.
      if service != "handbill-console" { #expect(told.contains("HANDBILL_TOKEN_KEYS")) }
      #expect(!told.contains(Self.secret))
    }

    @Test("What is missing is named, exit 78", arguments: services)
    func missing(_ service: String) throws {
      let (status, told) = try run(service, ["HANDBILL_ADMIN_PORT": "0"])
      #expect(status == .exited(78), "\(told)")
      #expect(told.contains("HANDBILL_DATABASE_URL") && told.contains("is required"))
    }

    @Test("A database user or name that is refused: exit 78, and the log says what to check", arguments: services)
    func refused(_ service: String) async throws {
      let url = try await TestDatabase.url()
      for (wrong, advice) in [
        (url + (url.contains("?") ? "&" : "?") + "user=nobody-of-this-name", "Check the user and the password"),
        (url + (url.contains("?") ? "&" : "?") + "dbname=no-database-of-this-name", "Create the database"),
      ] {
        let (status, told) = try run(service, settings(database: wrong))
        #expect(status == .exited(78), "\(told)")
        #expect(told.contains(advice), "\(told)")
      }
    }

    @Test("A schema of a newer release: exit 78, unless it is allowed", arguments: services)
    func tooNew(_ service: String) async throws {
      let url = try await TestDatabase.url()
      let connection = try PostgresConnection(PostgresConfiguration(url))
      try connection.executeScript(
        """
        INSERT INTO public.schema_migration (version, name, checksum, applied_at)
        SELECT max(version) + 1, 'of tomorrow', decode(repeat('00', 32), 'hex'), now() FROM public.schema_migration
        """)
      connection.close()
      var settings = settings(database: url)
      let (status, told) = try run(service, settings)
      #expect(status == .exited(78), "\(told)")
      #expect(told.contains("start the newer program"), "\(told)")
      settings["HANDBILL_NEWER_SCHEMA"] = "true"
      let process = try start(service, settings, output: .lines())
      defer { process.terminate(graceMilliseconds: 0) }
      _ = try process.waitForLine(timeoutMilliseconds: 60_000) { $0.contains("the schema is a newer release's") }
    }

    @Test(
      "A database that is not migrated yet is waited for, and the log says what to do",
      arguments: ["handbill-billing", "handbill-console"])
    func unmigrated(_ service: String) async throws {
      let url = try await SharedPostgres.database()
      let process = try start(service, settings(database: url), output: .lines())
      defer { process.terminate(graceMilliseconds: 0) }
      _ = try process.waitForLine(timeoutMilliseconds: 60_000) { $0.contains("run 'handbill migrate up'") }
      try TestDatabase.migrate(url)
      // What it does next: the console serves its pages, the others wait for Kafka.
      _ = try process.waitForLine(timeoutMilliseconds: 60_000) {
        $0.contains("waiting for kafka") || $0.contains("the console can be seen")
      }
      #expect(process.terminate(graceMilliseconds: 60_000) == .exited(service == "handbill-console" ? 0 : 69))
    }
  }
}
