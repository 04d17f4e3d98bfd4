import AdCore
import AdEvents
import Crypto
import Foundation
import Kafka
import Pipeline
import Records
import Runtime
import Synchronization
import TestServices
import Testing
import Threads

@testable import AdSelection
@testable import Runtime

/// Ad selection as its executable runs it, in this process, with a broker of its own; the test plays console, billing
/// and client.
final class RunningService {
  static let partitionCount: Int32 = 2
  private static let waitMilliseconds: Int64 = 120_000

  let network: Network
  let metrics = MetricsRegistry(AdSelectionMain.metrics)
  let health = Health()
  private let broker: EmbeddedBroker
  private let kafka: KafkaConfiguration
  private let producer: KafkaProducer
  private let consumer: KafkaConsumer
  private let lifeCycle: LifeCycle
  private let thread: OwnerThread
  private let clock = SystemClock()
  private var received: [OutgoingMessage] = []
  private var nextHeartbeat: Int64 = 0

  init(databaseURL: String) throws {
    network = try Network()
    broker = try EmbeddedBroker()
    for topic in Topic.networkSettings(networkPartitions: Self.partitionCount) {
      try broker.createTopic(topic.name, partitions: topic.partitions)
    }
    let answers = Topic.responses(for: network.app.id)
    try broker.createTopic(answers, partitions: Self.partitionCount)
    kafka = KafkaConfiguration(
      bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded)
    producer = try KafkaProducer(configuration: kafka) { _ in }
    consumer = try KafkaConsumer(configuration: kafka, groupID: nil, topics: [])
    try consumer.assign(
      [Topic.usage.name, answers].flatMap { topic in
        (0..<Self.partitionCount).map {
          KafkaTopicPartitionOffset(topic: topic, partition: $0, offset: KafkaTopicPartitionOffset.beginning)
        }
      })
    let configuration = try ConfigurationReader.read(environment: [
      "HANDBILL_DATABASE_URL": databaseURL + "&user=handbill-ad-selection",
      "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrapServers,
      "HANDBILL_KAFKA_EMBEDDED": "true",
      "HANDBILL_TOKEN_KEYS": "1:\(Data(repeating: 5, count: 32).base64EncodedString())",
    ]) { AdSelectionMain.configuration(&$0) }
    lifeCycle = LifeCycle(logger: .unread)
    let context = ServiceContext(
      logger: .unread, metrics: metrics, health: health, lifeCycle: lifeCycle, clock: SystemClock())
    thread = OwnerThread("start") { [lifeCycle] in
      do { try AdSelectionMain.start(configuration, context) } catch { lifeCycle.requestStop("\(error)") }
    }
  }

  func stop() {
    lifeCycle.requestStop("the test is over")
    thread.join()
    #expect(lifeCycle.stopAll(timeoutMilliseconds: 20_000))
    producer.close(timeoutMilliseconds: 5_000)
    consumer.close(timeoutMilliseconds: 5_000)
    broker.stop()
  }

  func publishCatalog() throws {
    for record in try network.records {
      try send(CatalogMessage.record(record, version: 1), to: .catalog, partition: 0)
    }
  }

  /// Writes what a stranger can who reaches the broker and has no key: that the campaign is deleted, that it is to be
  /// forgotten, and more budget.
  func forge() throws {
    let key = CatalogRecord.campaign(network.campaign).key
    try send(CatalogMessage.deleted(key: key, version: 99), to: .catalog, partition: 0, isGenuine: false)
    try producer.send(
      topic: Topic.catalog.name, partition: 0, key: Array(key.utf8), value: nil, headers: [], reportID: 0)
    let now = clock.now.advanced(byMilliseconds: 600_000)
    let grant = network.grant(1, amount: 9_000_000_000, until: now, day: 0)
    try send(BudgetRecord.grant(sequence: 1, grant), to: .budgets, partition: 1, isGenuine: false)
  }

  func grant(_ grant: AllotmentGrant, partition: Int32) throws {
    try send(BudgetRecord.grant(sequence: 1, grant), to: .budgets, partition: partition)
  }

  /// Sends a request to `partition`, whether it belongs there or not.
  func ask(_ request: AdRequest, partition: Int32) throws {
    try send(
      request, to: .requests, partition: partition,
      headers: [
        RecordHeader("kafka_replyTopic", request.replyTopic),
        RecordHeader("kafka_replyPartition", withUnsafeBytes(of: request.replyPartition.bigEndian) { Array($0) }),
        RecordHeader("kafka_correlationId", request.correlationID),
      ])
  }

  private func send(
    _ message: some EventMessage, to topic: Topic, partition: Int32, headers: [RecordHeader] = [],
    isGenuine: Bool = true
  ) throws {
    let all = ClientHeaders.cloudEvent(of: message, id: "\(clock.monotonicMicroseconds)") + headers
    var sent = OutgoingMessage(
      topic: topic.name, partition: partition, key: nil, value: message.encoded(), headers: all)
    if isGenuine { sent = sent.authenticated(by: try MessageMAC(ring: network.ring), now: clock.now) }
    try producer.send(
      topic: sent.topic, partition: sent.partition, key: sent.key, value: sent.value, headers: sent.headers,
      reportID: 0)
  }

  /// Reads until `find` finds something, sending the catalogue's heartbeat meanwhile; nil when the time runs out.
  func find<Found>(_ find: (OutgoingMessage) throws -> Found?) throws -> Found? {
    var found: Found?
    _ = try wait(until: {
      while found == nil, !received.isEmpty { found = try find(received.removeFirst()) }
      return found != nil
    })
    return found
  }

  /// The same until a condition holds; false when the time runs out.
  func wait(until isTrue: () throws -> Bool) throws -> Bool {
    let end = clock.monotonicMilliseconds + Self.waitMilliseconds
    while clock.monotonicMilliseconds < end {
      try beat()
      let topics = consumer.topics
      _ = try consumer.poll(timeoutMilliseconds: 50, recordsMaximum: 100) { record in
        let copy = record.copy(topic: topics[record.topicIndex])
        received.append(
          OutgoingMessage(
            topic: copy.topic, partition: copy.partition, key: copy.key, value: copy.value,
            headers: copy.headers))
      }
      if try isTrue() { return true }
    }
    return false
  }

  private func beat() throws {
    guard clock.monotonicMilliseconds >= nextHeartbeat else { return }
    nextHeartbeat = clock.monotonicMilliseconds + 500
    let count = Int64(try network.records.count)
    try send(CatalogMessage.heartbeat(records: count, versionSum: count, at: clock.now), to: .catalog, partition: 0)
  }
}
