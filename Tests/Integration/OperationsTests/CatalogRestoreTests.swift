import AdCore
import AdEvents
import Kafka
import LocalProcesses
import Postgres
import Runtime
import TestServices
import TestValues
import Testing

@testable import Operations

@Suite("A catalogue that was restored from a backup", .timeLimit(.minutes(5)))
struct CatalogRestoreTests {
  /// The catalogue's tables, what is published of them, and a backup.
  private final class Network {
    let pool: PostgresPool
    let broker: EmbeddedBroker
    var store: CatalogStore { CatalogStore(pool) }

    init(_ pool: PostgresPool) throws {
      self.pool = pool
      broker = try EmbeddedBroker()
      try broker.createTopic(Topic.catalog.name, partitions: 1)
      _ = try store.apply(try Samples.read(Samples.file)).get()
      try execute("CREATE TABLE backup AS SELECT * FROM catalog.record")
      try publish()
    }

    deinit { broker.stop() }

    var kafka: KafkaConfiguration {
      KafkaConfiguration(bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded)
    }

    func publish() throws {
      _ = try CatalogPublisher.publishOnce(pool: pool, kafka: kafka, ring: .sample, now: SystemClock().now)
    }

    func execute(_ sql: String) throws {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(sql) }
    }

    /// The tables are as they were when the backup was made.
    func restore() throws {
      try execute(
        """
        TRUNCATE catalog.record;
        INSERT INTO catalog.record SELECT * FROM backup;
        SELECT setval('catalog.change_number', (SELECT max(change_number) FROM backup));
        """)
    }

    func topic() throws -> CatalogTopic { try CatalogTopic.read(kafka, ring: .sample) }

    func losses() throws -> [CatalogLoss] { try topic().losses(of: try store.list(includesDeleted: true)) }

    /// What a reader holds who has read everything, and whether the last heartbeat agrees with it.
    func reader() throws -> (names: [String: Int64], sum: Int64, agrees: Bool) {
      let probe = try KafkaTopicProbe(configuration: kafka)
      defer { probe.close(timeoutMilliseconds: 5_000) }
      let end = try probe.bounds(topic: Topic.catalog.name, partition: 0, timeoutMilliseconds: 10_000).end
      var versions: [String: Int64] = [:]
      var agrees = false
      for offset in 0..<end {
        let record = try #require(
          try probe.record(topic: Topic.catalog.name, partition: 0, offset: offset, timeoutMilliseconds: 10_000))
        var headers = RecordHeaders()
        for header in record.headers { headers.add(header) }
        let message = try (record.value ?? []).withUnsafeBytes {
          try CatalogMessage.decode(value: $0, headers: headers).get()
        }
        switch message {
        case .record(_, let version), .deleted(_, let version):
          versions[message.key] = max(version, versions[message.key] ?? 0)
        case .heartbeat(let count, let sum, _, _, _):
          agrees = count == Int64(versions.count) && sum == versions.values.reduce(0, +)
        }
      }
      return (versions, versions.values.reduce(0, +), agrees)
    }
  }

  private func run(_ body: @escaping @Sendable (Network) throws -> Void) async throws {
    let pool = try await TestDatabase.pool()
    try await onOwnThread { try body(try Network(pool)) }
  }

  @Test("An edit after a restore speaks with a higher version than the edits that were lost")
  func editAgain() async throws {
    try await run { network in
      for name in ["One", "Two", "Three"] { _ = try network.store.set(key: "developer/sunny", [("name", name)]).get() }
      try network.publish()
      try network.restore()
      #expect(try network.losses().map(\.key) == ["developer/sunny"])
      _ = try network.store.set(key: "developer/sunny", [("name", "Four")]).get()
      #expect(try network.losses().isEmpty)
      try network.publish()
      #expect(try network.reader().agrees)
    }
  }

  @Test("While the topic holds later versions nothing is published, so that readers keep what they have")
  func refuses() async throws {
    try await run { network in
      _ = try network.store.set(key: "campaign/acme-summer", [("isPaused", "true")]).get()
      try network.publish()
      let before = try network.reader()
      try network.restore()
      let error = #expect(throws: CatalogBehindTopic.self) { try network.publish() }
      #expect(error?.losses.map(\.key) == ["campaign/acme-summer"])
      #expect(error?.description.contains("handbill restore accept") == true)
      let after = try network.reader()
      #expect(after.names == before.names && after.agrees)
    }
  }

  @Test("What was changed, made and deleted in lost commits is taken back from the topic, above its versions")
  func takesBack() async throws {
    try await run { network in
      _ = try network.store.set(key: "campaign/acme-summer", [("isPaused", "true")]).get()
      _ = try network.store.apply(try Samples.read(#"{"developers": [{"id": "other", "name": "Other"}]}"#)).get()
      _ = try network.store.delete(keys: ["ad/summer-1"]).get()
      // Deleted without a trace: nobody knows its form any more.
      _ = try network.store.apply(try Samples.read(#"{"developers": [{"id": "brief", "name": "Brief"}]}"#)).get()
      _ = try network.store.delete(keys: ["developer/brief"]).get()
      try network.publish()
      let wanted = try network.store.list(includesDeleted: true)
      try network.restore()
      let lost = try network.store.takeBack(from: try network.topic())
      #expect(lost.map(\.key) == ["ad/summer-1", "campaign/acme-summer", "developer/brief", "developer/other"])
      let rows = try network.store.list(includesDeleted: true)
      #expect(rows.map(\.key) == wanted.map(\.key))
      #expect(rows.map(\.record) == wanted.map(\.record))
      for (row, before) in zip(rows, wanted) where lost.contains(where: { $0.key == row.key }) {
        #expect(row.version > before.version)
      }
      #expect(try network.losses().isEmpty)
      try network.publish()
      #expect(try network.reader().agrees)
      // A second time there is nothing to do.
      #expect(try network.store.takeBack(from: try network.topic()).isEmpty)
    }
  }
}
