import AdCore
import AdEvents
import BrokerFaults
import Crypto
import Foundation
import HTTP
import Kafka
import LocalProcesses
import Pipeline
import Records
import Runtime
import TestServices
import TestValues
import Testing
import Threads

@testable import Edge
@testable import Runtime

/// The edge as its executable runs it, in this process, with a broker of its own; the test plays console and ad selection.
final class RunningEdge {
  static let partitionCount: Int32 = 3
  static let ring = KeyRing.sample(1)

  let broker: EmbeddedBroker
  let health = Health()
  let metrics = MetricsRegistry(EdgeMain.metrics)
  let base: String
  let port: Int
  private let producer: KafkaProducer
  private let consumer: KafkaConsumer
  let lifeCycle: LifeCycle
  private let clock = SystemClock()
  private var isStopped = false
  /// What the edge has written, as far as it was read.
  private(set) var written: [OutgoingMessage] = []

  /// - Parameter settings: further settings of the edge.
  init(_ settings: [String: String] = [:]) throws {
    broker = try EmbeddedBroker()
    for topic in Topic.networkSettings(networkPartitions: Self.partitionCount) {
      try broker.createTopic(topic.name, partitions: topic.partitions)
    }
    let kafka = KafkaConfiguration(
      bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded)
    producer = try KafkaProducer(configuration: kafka) { _ in }
    consumer = try KafkaConsumer(configuration: kafka, groupID: nil, topics: [])
    try consumer.assign(
      [Topic.requests, .impressions, .clicks].flatMap { topic in
        (0..<Self.partitionCount).map {
          KafkaTopicPartitionOffset(topic: topic.name, partition: $0, offset: KafkaTopicPartitionOffset.beginning)
        }
      })
    port = try FreePort.find()
    base = "http://127.0.0.1:\(port)"
    let environment = [
      "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrapServers, "HANDBILL_KAFKA_EMBEDDED": "true",
      "HANDBILL_TOKEN_KEYS": "1:\(Data(repeating: 1, count: 32).base64EncodedString())",
      "HANDBILL_EDGE_PORT": "\(port)",
    ]
    let configuration = try ConfigurationReader.read(environment: environment.merging(settings) { $1 }) {
      EdgeMain.configuration(&$0)
    }
    lifeCycle = LifeCycle(logger: .unread)
    let context = ServiceContext(
      logger: .unread, metrics: metrics, health: health, lifeCycle: lifeCycle, clock: clock)
    try EdgeMain.start(configuration, context)
  }

  /// The catalogue of one app, with a key.
  func publishCatalog() throws {
    let app = App.sample()
    let records: [CatalogRecord] = [
      .app(app), .appKey(AppKey(app: app.id, build: .distribution, keyHash: SHA256.hash("live".utf8))),
    ]
    for record in records { try publish(.record(record, version: 1)) }
    try publish(.heartbeat(records: 2, versionSum: 2, at: clock.now, stop: nil, change: 2))
    #expect(wait { self.health.isReady })
  }

  private func publish(_ message: CatalogMessage) throws {
    let sent = OutgoingMessage(
      topic: Topic.catalog.name, partition: 0, key: Array(message.key.utf8), value: message.encoded(),
      headers: CloudEventHeaders(type: message.eventType, source: "/test").headers(id: message.key, time: clock.now)
    ).authenticated(by: try MessageMAC(ring: Self.ring), now: clock.now)
    try send(sent)
  }

  /// A batch of impressions with these ids, as a device tells it.
  static func batch(_ ids: [String], key: String = "live", client: String = "client-1") -> [UInt8] {
    let event = ImpressionEvent(
      kind: .viewed, subject: .serve(token: [1, 2, 3]), age: .milliseconds(1_000), error: nil,
      identity: EventIdentity(idHash: 0, time: nil)
    ).encoded()
    var writer = WireWriter()
    writer.text(1, key)
    writer.text(2, client)
    for id in ids {
      writer.message(3) { writer in
        writer.text(1, id)
        writer.presentBytes(3, event)
      }
    }
    return writer.output
  }

  func send(_ message: OutgoingMessage) throws {
    try producer.send(
      topic: message.topic, partition: message.partition, key: message.key, value: message.value,
      headers: message.headers, reportID: 0)
  }

  /// Reads what the edge writes until a condition holds, at most a minute; says whether it does.
  @discardableResult
  func wait(until isTrue: () throws -> Bool) rethrows -> Bool {
    let end = MonotonicClock.milliseconds + 60_000
    while MonotonicClock.milliseconds < end {
      if try isTrue() { return true }
      let topics = consumer.topics
      _ = try? consumer.poll(timeoutMilliseconds: 20, recordsMaximum: 1_000) { record in
        let copy = record.copy(topic: topics[record.topicIndex])
        written.append(
          OutgoingMessage(
            topic: copy.topic, partition: copy.partition, key: copy.key, value: copy.value, headers: copy.headers))
      }
    }
    return false
  }

  /// What the edge wrote to a topic.
  func written(_ topic: Topic) -> [OutgoingMessage] { written.filter { $0.topic == topic.name } }

  /// The ids of the impressions that it wrote.
  var ids: [String] {
    written(.impressions).compactMap { $0.headers.first { $0.name == Array("ce_id".utf8) }?.text }
  }

  /// Answers a request that the edge wrote, as ad selection does.
  func answer(
    _ request: OutgoingMessage, _ outcome: AdResponse.Outcome, correlationID: String? = nil
  ) throws {
    var headers = RecordHeaders()
    for header in request.headers { headers.add(header) }
    let read = (request.value ?? []).withUnsafeBytes { AdRequest.decode(value: $0, headers: headers) }
    let asked = try read.get()
    let isJSON = headers.contentType != .protobuf
    let response = AdResponse(requestID: asked.requestID, outcome: outcome)
    var answer = MessageMaker(topic: headers.replyTopic, type: .adResponded, source: "/test").message(
      response, id: asked.requestID.description, time: clock.now, partition: asked.replyPartition,
      key: asked.requestID.utf8, isJSON: isJSON)
    let correlation = correlationID.map { Array($0.utf8) } ?? headers.correlationID
    answer.headers.append(RecordHeader("kafka_correlationId", correlation))
    try send(answer)
  }

  @discardableResult
  func stop() -> Bool {
    guard !isStopped else { return true }
    isStopped = true
    lifeCycle.requestStop("the test is over")
    let isOrderly = lifeCycle.stopAll(timeoutMilliseconds: 30_000)
    producer.close(timeoutMilliseconds: 1_000)
    consumer.close(timeoutMilliseconds: 1_000)
    broker.stop()
    return isOrderly
  }

  deinit { stop() }
}

/// Something that a thread of its own finds out.
final class Asked: Sendable {
  private let outcome = Monitor<HTTPResponse?>(nil)
  private let hasEnded = Monitor(false)

  init(_ ask: @escaping @Sendable () throws -> HTTPResponse) {
    _ = OwnerThread("asks") { [outcome, hasEnded] in
      let response = try? ask()
      outcome.update { $0 = response }
      hasEnded.update { $0 = true }
    }
  }

  var isOver: Bool { hasEnded.withLock { $0 } }

  /// Waits for it; nil where there was no answer.
  var response: HTTPResponse? {
    _ = hasEnded.wait(timeoutMilliseconds: 60_000) { $0 }
    return outcome.withLock { $0 }
  }
}
