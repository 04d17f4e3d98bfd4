import AdCore
import AdEvents
import Kafka
import LocalProcesses
import Pipeline
import Postgres
import TestServers
import TestServices
import TestValues
import Testing

@testable import Operations
@testable import Runtime

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
        TRUNCATE catalog.record, catalog.under_17_bundle;
        INSERT INTO catalog.record SELECT * FROM backup;
        SELECT setval('catalog.change_number', (SELECT max(change_number) FROM backup));
        """)
    }

    func topic() throws -> CatalogTopic { try CatalogTopic.read(kafka, ring: .sample) }

    func takeBack() throws -> [CatalogLoss] {
      let topic = try topic()
      return try pool.withConnection { connection throws(PostgresError) in
        try connection.transaction { connection throws(PostgresError) in
          try CatalogStore.takeBack(from: topic, in: connection)
        }
      }
    }

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

  @Test("A console that goes on finds it, too, whatever connection it has: what it told last is in the tables no more")
  func running() async throws {
    try await run { network in
      let health = Health()
      let context = ServiceContext(
        logger: .unread, metrics: MetricsRegistry(CatalogPublisher.metrics + BillingBreaker.metrics), health: health,
        lifeCycle: LifeCycle(logger: .unread), clock: SystemClock())
      try CatalogPublisher.start(
        pool: network.pool, kafka: network.kafka, ring: .sample,
        breaker: BillingBreaker(limits: .init(), context: context),
        context: context)
      defer { _ = context.lifeCycle.stopAll(timeoutMilliseconds: 20_000) }
      func problem() -> String? { health.readiness().first { $0.name == "catalog" }?.problem }
      func version() throws -> Int64 {
        try network.topic().losses(of: []).first { $0.key == "developer/sunny" }?.version ?? 0
      }
      #expect(Waiting.until(seconds: 20) { problem() == nil })
      _ = try network.store.set(key: "developer/sunny", [("name", "Lost")]).get()
      let edited = try #require(try network.store.list().first { $0.key == "developer/sunny" }).version
      #expect(try Waiting.until(seconds: 20) { try version() == edited })
      // No connection ends by it, as where somebody else has met its end first.
      try network.restore()
      #expect(Waiting.until(seconds: 20) { problem() == "commits of the catalogue were lost" })
      _ = try network.takeBack()
      #expect(Waiting.until(seconds: 20) { problem() == nil })
      #expect(try Waiting.until(seconds: 20) { try version() > edited })
    }
  }

  @Test("What somebody writes into the topic who has no key of the network's is no later version of anything")
  func strangers() async throws {
    try await run { network in
      let row = try #require(try network.store.list().first { $0.key == "developer/sunny" })
      let message = CatalogMessage.record(try #require(row.record), version: row.version + 1_000_000)
      let now = SystemClock().now
      let made = MessageMaker(topic: Topic.catalog.name, type: message.eventType, source: "/test")
        .message(message, id: "1", time: now, partition: 0, key: Array(message.key.utf8))
      let producer = try KafkaProducer(configuration: network.kafka) { _ in }
      for sent in [made, made.authenticated(by: try MessageMAC(ring: .sample(9)), now: now)] {
        try producer.send(
          topic: sent.topic, partition: 0, key: sent.key, value: sent.value, headers: sent.headers, reportID: 0)
      }
      #expect(producer.close(timeoutMilliseconds: 10_000))
      #expect(try network.losses().isEmpty)
      try network.publish()
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
      func kids(_ id: String, under17: Bool) throws -> CatalogFile {
        try Samples.read(
          #"""
          {"apps": [{"id": "\#(id)", "developer": "sunny", "name": "Kids", "bundleID": "com.sunny.kids",
            "isAgreementSigned": true, "isUnder17": \#(under17)}]}
          """#)
      }
      _ = try network.store.apply(try kids("kids", under17: true)).get()
      try network.publish()
      let wanted = try network.store.list(includesDeleted: true)
      try network.restore()
      let lost = try network.takeBack()
      #expect(
        lost.map(\.key) == ["ad/summer-1", "app/kids", "campaign/acme-summer", "developer/brief", "developer/other"])
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
      #expect(try network.takeBack().isEmpty)
      // A4: what was said of an app's users stays said, also when the app is gone.
      _ = try network.store.delete(keys: ["app/kids"]).get()
      let undone = try network.store.apply(try kids("kids-2", under17: false))
      #expect(throws: CatalogProblems.self) { try undone.get() }
    }
  }
}
