import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Operations
import Postgres
import TestServices
import TestValues
import Testing
import Threads

extension WholeNetwork {
  /// `handbill demo` where the environment names servers.
  @Suite struct GivenServersTests {
    @Test("the demo takes no database whose catalogue has records of others: exit 78, and it stays as it is")
    func database() async throws {
      let url = try await TestDatabase.url()
      let connection = try PostgresConnection(PostgresConfiguration(url, applicationName: "test"))
      defer { connection.close() }
      try connection.executeScript(
        """
        INSERT INTO catalog.record (key, kind, body, version, change_number)
        VALUES ('developer/somebody', 'developer', '{"id": "somebody", "name": "Somebody"}', 1, 1)
        """)
      let (status, told) = try await demo(["--kafka", "embedded"], ["HANDBILL_DATABASE_URL": url])
      #expect(status == .exited(78), "\(told)")
      #expect(told.contains("such as developer/somebody. Nothing was changed. Unset the variable"), "\(told)")
      let records: Int64? = try connection.query("SELECT count(*) FROM catalog.record").first?.decode(0)
      #expect(records == 1)
    }

    @Test("nor a Kafka with a catalogue that no run in its folder has published")
    func kafka() async throws {
      let broker = try EmbeddedBroker()
      defer { broker.stop() }
      try broker.createTopic(Topic.catalog.name, partitions: 1)
      let kafka = KafkaConfiguration(
        bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded)
      let pool = PostgresPool(try await TestDatabase.configuration(), size: 1)
      defer { pool.close() }
      _ = try await onOwnThread {
        try CatalogPublisher.publishOnce(
          pool: pool, kafka: kafka, ring: .sample, now: Timestamp(milliseconds: 1_800_000_000_000))
      }
      let (status, told) = try await demo([], ["HANDBILL_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrapServers])
      #expect(status == .exited(78), "\(told)")
      #expect(told.contains("\(broker.bootstrapServers) has a network's ads.catalog, which no run in"), "\(told)")
    }

    @Test("what was empty is the folder's: its next run takes it with what was added, and another folder's does not")
    func own() async throws {
      let broker = try EmbeddedBroker()
      defer { broker.stop() }
      let url = try await TestDatabase.url()
      let environment = ["HANDBILL_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrapServers, "HANDBILL_DATABASE_URL": url]
      let folder = try TemporaryFolder(prefix: "hbg")
      // Nobody can make topics on this broker, so that each run ends there.
      let first = try await demo([], environment, in: folder)
      #expect(first.told.contains("the schema is up to date"), "\(first.told)")
      let connection = try PostgresConnection(PostgresConfiguration(url, applicationName: "test"))
      defer { connection.close() }
      try connection.executeScript(
        """
        INSERT INTO catalog.record (key, kind, body, version, change_number)
        VALUES ('developer/me', 'developer', '{"id": "me", "name": "Me"}', 1, nextval('catalog.change_number'))
        """)
      let second = try await demo([], environment, in: folder)
      #expect(second.told.contains("the schema is up to date"), "\(second.told)")
      let other = try await demo([], ["HANDBILL_DATABASE_URL": url], in: try TemporaryFolder(prefix: "hbg"))
      #expect(other.status == .exited(78) && other.told.contains("developer/me"), "\(other.told)")
    }

    private func demo(
      _ arguments: [String], _ environment: [String: String], in given: TemporaryFolder? = nil
    ) async throws -> (status: LocalProcesses.ExitStatus?, told: String) {
      let folder = try given ?? TemporaryFolder(prefix: "hbg")
      try folder.letOthersEnter()
      let path = folder.path + "/demo"
      return try await onOwnThread {
        var variables: [String: String?] = [
          "DATABASE_URL": nil, "HANDBILL_DATABASE_URL": nil, "KAFKA_BOOTSTRAP_SERVERS": nil,
          "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": nil, "SWIFT_BACKTRACE": "enable=no",
        ]
        variables.merge(environment) { $1 }
        let process = try ChildProcess(
          .init(
            Programs.own.path("handbill"), ["demo", "--seconds", "1", "--folder", path] + arguments,
            environment: variables))
        let status = process.waitForExit(timeoutMilliseconds: 120_000)
        if status == nil { process.terminate(graceMilliseconds: 0) }
        return (status, process.lastLines.joined(separator: "\n"))
      }
    }
  }
}
