import AdBasics
import AdEvents
import BrokerFaults
import Foundation
import Kafka
import Records
import Synchronization
import Testing
import Threads

@testable import AdClient
@testable import AdClientKafka

/// The other end: reads every topic that clients write, keeps what came, and answers requests by a rule.
private final class FakeNetwork: Sendable {
  struct Seen: Sendable {
    let record: KafkaRecord
    func header(_ name: String) -> [UInt8]? { record.headers.first { $0.name == Array(name.utf8) }?.value ?? nil }
    var id: String { String(decoding: header("ce_id") ?? [], as: UTF8.self) }
  }

  static let partitions: Int32 = 4
  let broker: EmbeddedBroker
  private let seen = Monitor<[Seen]>([])
  private let stopping = StopRequest()
  private let thread = Mutex<OwnerThread?>(nil)

  /// - Parameter answer: What a request gets, by how often it was asked; nil is silence.
  init(answer: @escaping @Sendable (UUIDv7, Int) -> AdResponse?) throws {
    broker = try EmbeddedBroker()
    let topics = [Topic.requests.name, Topic.impressions.name, Topic.clicks.name]
    let responses = try Topic.responses(for: #require(AppID("sample-app")))
    for topic in topics + [responses] { try broker.createTopic(topic, partitions: FakeNetwork.partitions) }
    let configuration = KafkaConfiguration(
      bootstrapServers: broker.bootstrapServers, clientID: "network", environment: .embedded)
    let thread = OwnerThread("network") { [self] in
      do { try serve(configuration, topics, responses, answer) } catch { Issue.record(error) }
    }
    self.thread.withLock { $0 = thread }
  }

  private func serve(
    _ configuration: KafkaConfiguration, _ topics: [String], _ responses: String,
    _ answer: (UUIDv7, Int) -> AdResponse?
  ) throws {
    let consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: [])
    defer { consumer.close(timeoutMilliseconds: 1_000) }
    let producer = try KafkaProducer(configuration: configuration) { _ in }
    defer { producer.close(timeoutMilliseconds: 1_000) }
    try producer.warmUp(topics: [responses], timeoutMilliseconds: 10_000)
    try consumer.assign(
      topics.flatMap { topic in
        (0..<FakeNetwork.partitions).map {
          KafkaTopicPartitionOffset(topic: topic, partition: $0, offset: KafkaTopicPartitionOffset.beginning)
        }
      })
    var asked: [String: Int] = [:]
    while !stopping.isRequested {
      var batch: [Seen] = []
      _ = try consumer.poll(timeoutMilliseconds: 100, recordsMaximum: 1_000) { view in
        batch.append(Seen(record: view.copy(topic: topics[view.topicIndex])))
      }
      for item in batch where item.record.topic == Topic.requests.name {
        asked[item.id, default: 0] += 1
        guard let id = UUIDv7(item.id), let response = answer(id, asked[item.id, default: 0]),
          let partition = item.header("kafka_replyPartition"), let correlation = item.header("kafka_correlationId")
        else { continue }
        let stranger = AdResponse(requestID: DeviceClock.newID(), outcome: .error(.unknown, detail: ""))
        for (message, correlation) in [(stranger, [UInt8](repeating: 1, count: 16)), (response, correlation)] {
          let headers = CloudEventHeaders(type: message.eventType, source: "/test")
            .headers(id: message.requestID.description, time: DeviceClock.wall)
          try producer.send(
            topic: responses, partition: Int32(partition[3]), key: nil, value: message.encoded(),
            headers: headers + [RecordHeader("kafka_correlationId", correlation)], reportID: 0)
        }
      }
      if !batch.isEmpty { seen.update { [batch] in $0 += batch } }
    }
  }

  /// What came to a topic, once there are `count` records or 20 s are over.
  func records(_ topic: Topic, atLeast count: Int) async -> [Seen] {
    await withCheckedContinuation { continuation in
      _ = OwnerThread("records") { [self] in
        _ = seen.wait(timeoutMilliseconds: 20_000) { $0.count { $0.record.topic == topic.name } >= count }
        continuation.resume(returning: seen.withLock { $0.filter { $0.record.topic == topic.name } })
      }
    }
  }

  func stop() {
    stopping.make()
    _ = thread.withLock { $0 }?.join(timeoutMilliseconds: 10_000)
    broker.stop()
  }
}

@Suite("The transport over Kafka, against the embedded broker", .serialized)
struct KafkaTransportTests {
  private func transport(_ network: FakeNetwork, deadline: Int64 = 15_000, askAgain: Int64 = 5_000) throws
    -> KafkaTransport
  {
    var settings = KafkaTransportSettings(
      bootstrapServers: network.broker.bootstrapServers, apps: [try #require(AppID("sample-app"))])
    settings.isEmbedded = true
    settings.deadlineMilliseconds = deadline
    settings.askAgainMilliseconds = askAgain
    settings.reconnectMilliseconds = 50...200
    return KafkaTransport(settings: settings)
  }

  private func ask(_ session: AdSession) async throws -> (UUIDv7, RequestResult) {
    let placement = try #require(PlacementID("home"))
    let (results, sink) = AsyncStream<RequestResult>.makeStream()
    let id = session.request(AdSession.Wish(placement: placement)) { sink.yield($0) }
    for await result in results { return (id, result) }
    return (id, .noAnswer)
  }

  @Test("A request gets its own answer; what is for others is dropped; its headers say where the answer goes")
  func answers() async throws {
    let network = try FakeNetwork { id, _ in
      AdResponse(requestID: id, outcome: .error(.inventoryUnavailable, detail: "a sentence"))
    }
    defer { network.stop() }
    let transport = try transport(network)
    let facts = Mutex<[AcknowledgedFact]>([])
    let session = AdSession(identity: try sampleIdentity(), transport: transport) { fact in
      facts.withLock { $0.append(fact) }
    }
    let (id, result) = try await ask(session)
    #expect(result == .error(.inventoryUnavailable, detail: "a sentence"))
    #expect(transport.counts.answersDropped >= 1)
    let request = try #require(await network.records(.requests, atLeast: 1).first)
    #expect(request.id == id.description)
    #expect(request.record.partition == KafkaPartition.of(key: "client-1", count: FakeNetwork.partitions))
    // Text, because readers of CloudEvents take every header of the answer as UTF-8.
    #expect(request.header("kafka_correlationId") == Array(id.description.utf8))
    #expect(request.header("kafka_replyTopic") == Array("ads.responses.sample-app".utf8))
    #expect(request.header("kafka_replyPartition")?.last.map(Int32.init) == transport.replyPartition)
    #expect(transport.close(timeoutMilliseconds: 5_000))
    #expect(facts.withLock { $0 } == [.request(placement: try #require(PlacementID("home")))])
  }

  @Test("Without an answer a request is asked again, once, with the same id")
  func asksAgain() async throws {
    let network = try FakeNetwork { id, times in
      times < 2 ? nil : AdResponse(requestID: id, outcome: .error(.loadingThrottled, detail: ""))
    }
    defer { network.stop() }
    let transport = try transport(network, deadline: 20_000, askAgain: 2_000)
    defer { transport.close(timeoutMilliseconds: 1_000) }
    let facts = Mutex<[AcknowledgedFact]>([])
    let session = AdSession(identity: try sampleIdentity(), transport: transport) { fact in
      facts.withLock { $0.append(fact) }
    }
    let (id, result) = try await ask(session)
    #expect(result == .error(.loadingThrottled))
    #expect(await network.records(.requests, atLeast: 2).map(\.id) == [id.description, id.description])
    #expect(facts.withLock { $0.count } == 1, "M1: asked twice, one request")
  }

  @Test("E1: a request that nobody answers is given up at its deadline; M1: it counts, for the broker has it")
  func givesUp() async throws {
    let network = try FakeNetwork { _, _ in nil }
    defer { network.stop() }
    let transport = try transport(network, deadline: 1_000, askAgain: 400)
    defer { transport.close(timeoutMilliseconds: 1_000) }
    let facts = Mutex<[AcknowledgedFact]>([])
    let session = AdSession(identity: try sampleIdentity(), transport: transport) { fact in
      facts.withLock { $0.append(fact) }
    }
    let (_, result) = try await ask(session)
    #expect(result == .noAnswer)
    #expect(transport.requestsWaiting == 0)
    #expect(facts.withLock { $0 } == [.request(placement: try #require(PlacementID("home")))])
  }

  @Test("Events get there through refused records and lost producers, in order, each with one ce_id")
  func resends() async throws {
    let network = try FakeNetwork { _, _ in nil }
    defer { network.stop() }
    let transport = try transport(network)
    let facts = Mutex<[AcknowledgedFact]>([])
    let session = AdSession(identity: try sampleIdentity(), transport: transport) { fact in
      facts.withLock { $0.append(fact) }
    }
    let placement = try #require(PlacementID("home"))
    let ad = try sampleAd()
    // Not retriable for librdkafka: each fails a producer.
    network.broker.pushFaults([.topicAuthorizationFailed, .topicAuthorizationFailed, .disconnect])
    for age in 1...20 {
      #expect(session.report(AdReport(.viewed, .ad(ad), at: ms(Int64(age))), placement: placement, requestID: nil))
    }
    #expect(session.report(AdReport(.blocked, .ad(ad), at: ms(21)), placement: placement, requestID: nil))
    let events = await network.records(.impressions, atLeast: 20)
    var ids: [String] = []
    var ages: [EventAge] = []
    for event in events where !ids.contains(event.id) {
      ids.append(event.id)
      let decoded = event.record.value?.withUnsafeBytes { bytes in
        var headers = RecordHeaders()
        for header in event.record.headers {
          headers.add(header)
        }
        return ImpressionEvent.decode(value: bytes, headers: headers)
      }
      ages.append(try #require(try decoded?.get().age))
      #expect(event.record.partition == KafkaPartition.of(key: "client-1", count: FakeNetwork.partitions))
    }
    #expect(ages == (1...20).map { .milliseconds(Int64($0)) })
    #expect(transport.close(timeoutMilliseconds: 10_000))
    #expect(transport.counts.producersLost >= 1)
    let acknowledged = facts.withLock { $0 }
    #expect(acknowledged.count == 21, "each is acknowledged once")
    #expect(acknowledged.count { if case .told(.viewed, _, _, _, _) = $0 { true } else { false } } == 20)
  }
}
