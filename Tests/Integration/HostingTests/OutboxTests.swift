import AdCore
import AdEvents
import BrokerFaults
import Kafka
import LocalProcesses
import Pipeline
import PipelineHost
import Postgres
import Records
import Runtime
import TestServices
import TestValues
import Testing

@testable import ImpressionTracking

@Suite("The outbox", .timeLimit(.minutes(5)))
struct OutboxTests {
  private static let records = 2_000
  private static let batchRecords = 50
  private static let entriesMaximum = 200

  @Test("While nothing can be sent on, no more is decided than the outbox holds; then all is, and nothing is lost")
  func backPressure() async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let service = try RunningTracking(
        databaseURL: url, environment: ["HANDBILL_BATCH_RECORDS": "\(Self.batchRecords)"])
      defer { service.stop() }
      service.configuration.pipeline.memory = PipelineMemory(outboxEntriesMaximum: Self.entriesMaximum)
      try sendMisdirected(service)
      service.broker.pushFaults(Array(repeating: .notEnoughReplicas, count: 10_000))
      try service.start()
      let connection = try PostgresConnection(PostgresConfiguration(url))
      defer { connection.close() }
      let isFull = try Waiting.until { try waiting(connection) >= Self.entriesMaximum }
      #expect(isFull)
      // Once nothing more is decided: batches that had been handed over before it was full may add theirs, each of what
      // two reads may bring.
      let isSteady = try Waiting.until {
        let position = try decided(connection)
        return try RunningTracking.awaitBeats(connection) && decided(connection) == position
      }
      let entries = try waiting(connection)
      #expect(isSteady && entries <= Int64(Self.entriesMaximum + 3 * 2 * Self.batchRecords))
      service.broker.clearFaults()
      let isDecided = try Waiting.until { try decided(connection) == Self.records }
      let isEmpty = try Waiting.until { try waiting(connection) == 0 }
      let isSentOn = try Waiting.until { try decided(connection, partition: 1) == Self.records }
      #expect(isDecided && isEmpty && isSentOn, "each once")
    }
  }

  /// Events of served ads of partition 1, in partition 0.
  private func sendMisdirected(_ service: RunningTracking) throws {
    let issued = SystemClock().now
    let ring = try #require(service.configuration.ring)
    let (issuer, hasher) = (try ServeTokenIssuer(ring: ring), try ClientHasher(ring: ring))
    let producer = try KafkaProducer(
      configuration: KafkaConfiguration(
        bootstrapServers: service.broker.bootstrapServers, clientID: "test", environment: .embedded)
    ) { _ in }
    try producer.warmUp(topics: [Topic.impressions.name], timeoutMilliseconds: 10_000)
    let headers = [
      RecordHeader("content-type", "application/protobuf"), RecordHeader("ce_specversion", "1.0"),
      RecordHeader("ce_type", "\(EventType.impressionViewed.name)"), RecordHeader("ce_source", "/test"),
      RecordHeader("ce_id", "1"),
    ]
    for number in 0..<Self.records {
      let terms = ServedTerms.sample(serve: UInt64(number), partition: 1, issuedAt: issued) {
        $0.clientHash = hasher.hash(app: $0.app, clientID: "client", sessionID: "", now: issued)
      }
      let event = ImpressionEvent(
        kind: .viewed, subject: .serve(token: issuer.issue(terms)), age: .milliseconds(1_000), error: nil,
        identity: EventIdentity(idHash: 0, time: nil))
      try producer.send(
        topic: Topic.impressions.name, partition: 0, key: Array("client".utf8), value: event.encoded(),
        headers: headers, reportID: 0)
    }
    try #require(producer.close(timeoutMilliseconds: 20_000))
  }

  private func waiting(_ connection: PostgresConnection) throws -> Int64 {
    try number(connection, "SELECT count(*) FROM impression_tracking.outbox WHERE partition = $1", partition: 0)
  }

  /// How many records of a partition are decided.
  private func decided(_ connection: PostgresConnection, partition: Int32 = 0) throws -> Int64 {
    try number(
      connection, "SELECT next_offset FROM impression_tracking.input WHERE partition = $1", partition: partition)
  }

  private func number(_ connection: PostgresConnection, _ sql: String, partition: Int32) throws -> Int64 {
    try connection.query(sql, [partition]).first?.decode(0) ?? 0
  }
}
