import BrokerFaults
import Testing
import Threads

@testable import Kafka

@Suite("A producer that is rebuilt", .timeLimit(.minutes(5)))
struct RebuiltProducerTests {
  private static let waitMilliseconds = 30_000

  /// What a listener was told, in order.
  private enum Word: Equatable, Sendable {
    case delivered([UInt64])
    case lost, stillDown, rebuilt
  }

  private func producer(
    _ broker: EmbeddedBroker, topics: [String] = ["events"], warmUpMilliseconds: Int32 = 10_000, words: Monitor<[Word]>
  ) -> RebuiltProducer {
    var listener = RebuiltProducer.Listener()
    listener.reports = { reports in
      let delivered = reports.filter { $0.error == nil }.map(\.reportID)
      if !delivered.isEmpty { words.update { $0.append(.delivered(delivered)) } }
    }
    listener.lost = { _ in words.update { $0.append(.lost) } }
    listener.stillDown = { _ in words.update { $0.append(.stillDown) } }
    listener.rebuilt = { words.update { $0.append(.rebuilt) } }
    return RebuiltProducer(
      configuration: KafkaConfiguration(
        bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded),
      topics: topics, pauseMilliseconds: 1...100, warmUpMilliseconds: warmUpMilliseconds, listener: listener)
  }

  private func send(_ report: UInt64, to producer: KafkaProducer?) throws {
    try #require(producer).send(topic: "events", partition: 0, key: nil, value: [1], reportID: report)
  }

  @Test("After a failure there is another one, and the earlier one is nobody's any more")
  func rebuilds() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let words = Monitor<[Word]>([])
    let producer = producer(broker, words: words)
    let first = try producer.start()
    #expect(try producer.start() == first, "a second start makes no second one")
    broker.pushFaults([.messageTooLarge])
    try send(1, to: producer.producer(generation: first))
    #expect(words.wait(timeoutMilliseconds: Self.waitMilliseconds) { $0 == [.lost, .rebuilt] })
    #expect(producer.producer(generation: first) == nil)
    let second = try #require(producer.generation)
    #expect(second != first)
    try send(1, to: producer.producer(generation: second))
    #expect(words.wait(timeoutMilliseconds: Self.waitMilliseconds) { $0.last == .delivered([1]) })
    // Only the one that is there can be thrown away.
    producer.fail(generation: first, .closed)
    #expect(producer.generation == second)
    #expect(producer.close(timeoutMilliseconds: 10_000))
    #expect(producer.generation == nil)
    #expect(throws: KafkaError.closed) { try producer.start() }
    #expect(words.withLock { $0 } == [.lost, .rebuilt, .delivered([1])])
  }

  @Test("Where the topics are not to be seen, a start says so, and a later one waits for them")
  func topicsMissing() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    broker.setBroker(1, isUp: false)
    let words = Monitor<[Word]>([])
    let producer = producer(broker, warmUpMilliseconds: 500, words: words)
    producer.startLater()
    #expect(throws: KafkaError.self) { try producer.start() }
    #expect(words.wait(timeoutMilliseconds: Self.waitMilliseconds) { $0.contains(.stillDown) })
    #expect(producer.generation == nil)
    broker.setBroker(1, isUp: true)
    #expect(words.wait(timeoutMilliseconds: Self.waitMilliseconds) { $0.last == .rebuilt })
    #expect(producer.generation != nil)
    producer.abort()
  }

  @Test("Once it is closed no other one is made")
  func closed() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let words = Monitor<[Word]>([])
    let producer = producer(broker, words: words)
    let generation = try producer.start()
    producer.abort()
    producer.fail(generation: generation, .closed)
    #expect(producer.generation == nil)
    #expect(words.withLock { $0 }.isEmpty)
  }
}
