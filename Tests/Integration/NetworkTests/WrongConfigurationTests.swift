import Foundation
import HTTP
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

    /// A service that runs until it ends by itself, and what it says.
    private final class Run {
      private let folder: TemporaryFolder
      private let process: ChildProcess
      let service: String

      init(_ service: String, _ environment: [String: String?]) throws {
        self.service = service
        folder = try TemporaryFolder(prefix: "hbc")
        process = try WrongConfigurationTests.start(service, environment, output: .file(folder.path("output")))
      }

      func end() throws -> (status: LocalProcesses.ExitStatus?, told: String) {
        let status = process.waitForExit(timeoutMilliseconds: 60_000)
        if status == nil { process.terminate(graceMilliseconds: 0) }
        return (status, try String(contentsOfFile: folder.path("output"), encoding: .utf8))
      }
    }

    private func run(_ service: String, _ environment: [String: String?]) throws -> (
      status: LocalProcesses.ExitStatus?, told: String
    ) { try Run(service, environment).end() }

    private static func start(
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
      for name in ["HANDBILL_DATABASE_URL", "HANDBILL_TOKEN_KEYS", "HANDBILL_ADMIN_PORT", "HANDBILL_LOG_LEVEL"] {
        #expect(told.contains(name), "\(name) is not named: \(told)")
      }
      #expect(!told.contains(Self.secret))
    }

    @Test("What is missing is named, exit 78", arguments: services)
    func missing(_ service: String) throws {
      let (status, told) = try run(service, ["HANDBILL_ADMIN_PORT": "0"])
      #expect(status == .exited(78), "\(told)")
      #expect(told.contains("HANDBILL_DATABASE_URL") && told.contains("is required"))
    }

    @Test("A port that is taken: exit 69, and the log names the settings that choose another")
    func takenPort() throws {
      let server = try HTTPServer(port: 0, router: Router())
      defer { server.stop() }
      var settings = settings(database: "postgresql://nobody@127.0.0.1:1/none")
      settings["HANDBILL_ADMIN_PORT"] = "\(server.port)"
      let (status, told) = try run("handbill-billing", settings)
      #expect(status == .exited(69), "\(told)")
      #expect(told.contains("; choose another by HANDBILL_ADMIN_ADDRESS or HANDBILL_ADMIN_PORT"), "\(told)")
    }

    @Test("A KAFKA_HOME where no Kafka is: exit 69, and it is named")
    func noKafka() throws {
      let folder = try TemporaryFolder(prefix: "hbc")
      try folder.letOthersEnter()
      let process = try ChildProcess(
        .init(
          Programs.own.path("handbill"), ["demo", "--kafka", "local", "--folder", folder.path + "/demo"],
          environment: ["KAFKA_HOME": folder.path, "SWIFT_BACKTRACE": "enable=no"]))
      let status = process.waitForExit(timeoutMilliseconds: 60_000)
      if status == nil { process.terminate(graceMilliseconds: 0) }
      let told = process.lastLines.joined(separator: "\n")
      #expect(status == .exited(69), "\(told)")
      #expect(told.contains("Apache Kafka in \(folder.path) is not available: set KAFKA_HOME"), "\(told)")
    }

    // They wait for a broker that is away before they end: all of them at once.
    @Test("A database user or name that is refused: exit 78, and the log says what to check")
    func refused() async throws {
      let url = try await TestDatabase.url()
      let base = url + (url.contains("?") ? "&" : "?")
      let runs = try [
        ("user=nobody-of-this-name", "Check the user and the password"),
        ("dbname=no-database-of-this-name", "Create the database"),
      ].flatMap { wrong, advice in
        try Self.services.map { (run: try Run($0, settings(database: base + wrong)), advice: advice) }
      }
      for (run, advice) in runs {
        let (status, told) = try run.end()
        #expect(status == .exited(78), "\(run.service): \(told)")
        #expect(told.contains(advice), "\(run.service): \(told)")
      }
    }

    @Test("A schema of a newer release: exit 78, unless it is allowed")
    func tooNew() async throws {
      let url = try await TestDatabase.url()
      let connection = try PostgresConnection(PostgresConfiguration(url))
      try connection.executeScript(
        """
        INSERT INTO public.schema_migration (version, name, checksum, applied_at)
        SELECT max(version) + 1, 'of tomorrow', decode(repeat('00', 32), 'hex'), now() FROM public.schema_migration
        """)
      connection.close()
      var settings = settings(database: url)
      for run in try Self.services.map({ try Run($0, settings) }) {
        let (status, told) = try run.end()
        #expect(status == .exited(78), "\(run.service): \(told)")
        #expect(told.contains("start the newer program"), "\(run.service): \(told)")
      }
      settings["HANDBILL_NEWER_SCHEMA"] = "true"
      for process in try Self.services.map({ try Self.start($0, settings, output: .lines()) }) {
        defer { process.terminate(graceMilliseconds: 0) }
        _ = try process.waitForLine(timeoutMilliseconds: 60_000) { $0.contains("the schema is a newer release's") }
      }
    }

    @Test("A database that is not migrated yet is waited for, and the log says what to do")
    func unmigrated() async throws {
      let url = try await SharedPostgres.database()
      // What each does next: the console serves its pages, the others wait for Kafka, and end with 69.
      let nexts =
        [
          ("handbill-billing", "waiting for kafka", 69), ("handbill-console", "the console can be seen", 0),
        ] as [(service: String, says: String, code: Int32)]
      let processes = try nexts.map { try Self.start($0.service, settings(database: url), output: .lines()) }
      defer { for process in processes { process.terminate(graceMilliseconds: 0) } }
      for process in processes {
        _ = try process.waitForLine(timeoutMilliseconds: 60_000) { $0.contains("run 'handbill migrate up'") }
      }
      try TestDatabase.migrate(url)
      for (process, next) in zip(processes, nexts) {
        _ = try process.waitForLine(timeoutMilliseconds: 60_000) { $0.contains(next.says) }
        #expect(process.terminate(graceMilliseconds: 60_000) == .exited(next.code))
      }
    }
  }
}
