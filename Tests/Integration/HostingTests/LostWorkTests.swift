import AdCore
import AdEvents
import BrokerFaults
import Kafka
import LocalProcesses
import Postgres
import Runtime
import TestServers
import TestServices
import TestValues
import Testing
import Threads

@testable import ImpressionTracking
@testable import Pipeline
@testable import PipelineHost

/// That a running service looks, and hands on what it saw; what follows from it is the rules' (`LostCommitsTests`,
/// `ReaderStateTests`).
@Suite("What a running service finds of logs that were cut and commits that were lost", .timeLimit(.minutes(5)))
struct LostWorkTests {
  private static let seconds = 40

  /// Impression tracking at work, and its database.
  private func run(
    _ body: @escaping @Sendable (RunningTracking, PostgresConnection) throws -> Void
  ) async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let service = try RunningTracking(databaseURL: url)
      defer { service.stop() }
      let connection = try PostgresConnection(PostgresConfiguration(url))
      defer { connection.close() }
      try body(service, connection)
    }
  }

  /// Puts one record into each of both partitions.
  private func send(_ messages: [OutgoingMessage], to broker: EmbeddedBroker) throws {
    let producer = try KafkaProducer(
      configuration: KafkaConfiguration(
        bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded)
    ) { _ in }
    for message in messages {
      try producer.send(
        topic: message.topic, partition: message.partition, key: message.key, value: message.value,
        headers: message.headers, reportID: 0)
    }
    #expect(producer.close(timeoutMilliseconds: 10_000))
  }

  /// A record for each partition that is no event.
  private static let garbage = (0..<2).map {
    OutgoingMessage(topic: Topic.impressions.name, partition: $0, key: nil, value: [0xFF], headers: [])
  }

  private func numbers(_ sql: String, _ connection: PostgresConnection) throws -> [Int64] {
    try connection.query(sql).map { try $0.decode(0) }
  }

  @Test("After its connection to a broker was lost a partition is opened again, so that its log is compared")
  func connectionLost() async throws {
    try await run { service, connection in
      #expect(try service.start())
      let epochs = "SELECT epoch FROM impression_tracking.partition ORDER BY partition"
      let before = try numbers(epochs, connection)
      service.broker.setBroker(1, isUp: false)
      // Until somebody has met it.
      Waiting.pause(milliseconds: 1_000)
      service.broker.setBroker(1, isUp: true)
      try send(Self.garbage, to: service.broker)
      #expect(
        try Waiting.until(seconds: Self.seconds) {
          try zip(numbers(epochs, connection), before).allSatisfy { $0 > $1 }
        })
      #expect(
        try Waiting.until(seconds: Self.seconds) {
          try numbers("SELECT count(*) FROM impression_tracking.rejected", connection) == [2]
        })
    }
  }

  @Test("Where a log ends is told with what had been decided when that was asked for")
  func ends() async throws {
    try await onOwnThread {
      let broker = try EmbeddedBroker()
      defer { broker.stop() }
      try broker.createTopic(Topic.impressions.name, partitions: 2)
      try send(Self.garbage, to: broker)
      let seen = Locked<[WorkerCommand<Never>]>([])
      let watcher = EndWatcher(
        inputs: [(Topic.impressions.name, false)], alsoGrown: [],
        configuration: KafkaConfiguration(
          bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded),
        logger: .unread, metrics: MetricsRegistry([HostMetrics.lag])
      ) { partition, end, generation in
        seen.withLock { $0.append(.confirmEnd(partition, end, generation: generation)) }
      }
      watcher.watch([1: PartitionProgress(generation: 3, doneOffsets: [5])])
      let thread = OwnerThread("ends") { watcher.run() }
      defer {
        watcher.stop()
        thread.join()
      }
      #expect(Waiting.until(seconds: Self.seconds) { seen.withLock { !$0.isEmpty } })
      guard case .confirmEnd(1, let end, generation: 3) = try #require(seen.withLock { $0.first }) else {
        Issue.record("not of the opening that was watched")
        return
      }
      #expect(end.offset == 1 && end.decided == 5)
    }
  }

  @Test("A topic that tells of more than the database knows stops the partition, and no other")
  func marks() async throws {
    try await run { service, connection in
      let mark = TimelineMark(timeline: .sample(7), sequence: 50, batch: 9)
      let told = OutgoingMessage(
        topic: Topic.acceptedImpressions.name, partition: 1, key: nil, value: [1], headers: []
      ).marked(mark).authenticated(by: try MessageMAC(ring: try #require(service.configuration.ring)), now: .sample)
      try send([told], to: service.broker)
      try ImpressionTrackingMain.start(service.configuration, service.context)
      let stopped = "SELECT partition::bigint FROM timeline.finding"
      #expect(try Waiting.until(seconds: Self.seconds) { try numbers(stopped, connection) == [1] })
      try send(Self.garbage, to: service.broker)
      let rejected = "SELECT partition::bigint FROM impression_tracking.rejected"
      #expect(try Waiting.until(seconds: Self.seconds) { try numbers(rejected, connection) == [0] })
    }
  }

  @Test("I3: no entry of the outbox has an id that this process gave before, also where the database went back")
  func outboxIDs() async throws {
    try await run { service, connection in
      #expect(try service.start())
      let rejected = "SELECT count(*) FROM impression_tracking.rejected"
      let ids = "SELECT outbox_id FROM impression_tracking.partition ORDER BY partition"
      for (count, given) in [(2, [1, 1]), (4, [2, 2])] as [(Int64, [Int64])] {
        try send(Self.garbage, to: service.broker)
        #expect(try Waiting.until(seconds: Self.seconds) { try numbers(rejected, connection) == [count] })
        #expect(try numbers(ids, connection) == given)
        try connection.executeScript(
          "UPDATE impression_tracking.partition SET outbox_id = 0, epoch = pipeline.next_epoch(epoch)")
      }
    }
  }
}
