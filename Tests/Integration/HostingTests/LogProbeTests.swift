import AdCore
import AdEvents
import ImpressionTrackingCore
import Kafka
import Runtime
import TestServices
import TestValues
import Testing

@testable import Pipeline
@testable import PipelineHost

@Suite("Probes of logs", .timeLimit(.minutes(5)))
struct LogProbeTests {
  private static let milliseconds: Int32 = 10_000
  private static let partitions = (0..<2).map { KafkaTopicPartition(topic: "events", partition: $0) }

  @Test("what librdkafka says of a client is in the service's log, for whoever asks")
  func words() throws {
    let (broker, probe) = try logs()
    defer { broker.stop() }
    probe.close(timeoutMilliseconds: Self.milliseconds)
    for level in [LogLevel.debug, .info] {
      let sink = CapturingSink()
      let logger = Logger(name: "test", service: "test", level: level, format: .json, sink: sink)
      var configuration = Self.configuration(broker).told(to: logger)
      configuration.properties["debug"] = "topic"
      let talkative = try KafkaTopicProbe(configuration: configuration)
      defer { talkative.close(timeoutMilliseconds: Self.milliseconds) }
      _ = try identity(talkative, 7)
      let isTold = sink.lines.contains { $0.contains(#""logger":"librdkafka""#) && $0.contains("events [0]") }
      #expect(isTold == (level == .debug), "\(sink.lines.prefix(3))")
    }
  }

  private static func configuration(_ broker: EmbeddedBroker) -> KafkaConfiguration {
    KafkaConfiguration(bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded)
  }

  /// Two logs with 20 records each.
  private func logs() throws -> (broker: EmbeddedBroker, probe: KafkaTopicProbe) {
    let broker = try EmbeddedBroker()
    try broker.createTopic("events", partitions: 2)
    let producer = try KafkaProducer(configuration: Self.configuration(broker)) { _ in }
    for partition in Int32(0)..<2 {
      for index in 0..<20 {
        try producer.send(
          topic: "events", partition: partition, key: nil, value: Array("event \(index)".utf8), reportID: 0)
      }
    }
    #expect(producer.close(timeoutMilliseconds: Self.milliseconds))
    return (broker, try KafkaTopicProbe(configuration: Self.configuration(broker)))
  }

  private func check(_ probe: KafkaTopicProbe, _ last: RecordIdentity?, next: Int64) throws -> [TopicIdentity] {
    let position = InputPosition(
      nextOffset: next, last: last, consumedSequence: 0, consumedWatermark: .init(milliseconds: 0))
    let offsets = Self.partitions.map { _ in last?.offset }
    return try probe.probes(Self.partitions, lastOffsets: offsets, timeoutMilliseconds: Self.milliseconds)
      .map { TopicIdentity.check(position, against: $0) }
  }

  private func identity(_ probe: KafkaTopicProbe, _ offset: Int64) throws -> RecordIdentity {
    let position = KafkaTopicPartitionOffset(topic: "events", partition: 0, offset: offset)
    let found = try probe.records(at: [position], timeoutMilliseconds: Self.milliseconds) { RecordIdentity($1) }
    return try #require(found[position.partition])
  }

  @Test("What the last records tell of lost commits is believed under the network's keys alone, and in their own log")
  func marks() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic(Topic.usage.name, partitions: 2)
    let producer = try KafkaProducer(configuration: Self.configuration(broker)) { _ in }
    func record(_ sequence: Int64, ring: KeyRing? = .sample) throws -> OutgoingMessage {
      let message = OutgoingMessage(topic: Topic.usage.name, partition: 0, key: nil, value: [1], headers: [])
        .marked(TimelineMark(timeline: .sample(1), sequence: sequence, batch: 3))
      return try ring.map { message.authenticated(by: try MessageMAC(ring: $0), now: .sample) } ?? message
    }
    let elsewhere = try record(9)
    for (partition, message) in [
      (0, try record(7)), (0, try record(5)), (0, try record(99, ring: nil)), (0, try record(98, ring: .sample(9))),
      (1, elsewhere),
    ] as [(Int32, OutgoingMessage)] {
      try producer.send(
        topic: message.topic, partition: partition, key: nil, value: message.value, headers: message.headers,
        reportID: 0)
    }
    #expect(producer.close(timeoutMilliseconds: Self.milliseconds))
    let probe = try KafkaTopicProbe(configuration: Self.configuration(broker))
    defer { probe.close(timeoutMilliseconds: 5_000) }
    let logs = (0..<2).map { KafkaTopicPartition(topic: Topic.usage.name, partition: $0) }
    for (isThorough, sequence) in [(false, 5), (true, 7)] as [(Bool, Int64)] {
      let marks = try probe.lastMarks(
        of: logs, by: MessageMAC(ring: .sample), isThorough: isThorough, timeoutMilliseconds: Self.milliseconds)
      #expect(marks.map { $0?.sequence } == [sequence, nil])
    }
  }

  @Test("The record that a position rests on proves the log; the end that comes with it is the log's")
  func proven() throws {
    let (broker, probe) = try logs()
    defer {
      probe.close(timeoutMilliseconds: 5_000)
      broker.stop()
    }
    let found = try probe.probes(
      Self.partitions, lastOffsets: [7, 19], timeoutMilliseconds: Self.milliseconds)
    #expect(found.map(\.endOffset) == [20, 20])
    #expect(found.map(\.firstOffset) == [7, 19], "one question told it: where the log begins was not asked")
    #expect(found.map { $0.record?.offset } == [7, 19])
  }

  @Test("A log without a position is asked for its bounds; what another's position proves stays proven")
  func partlyProven() throws {
    let (broker, probe) = try logs()
    defer {
      probe.close(timeoutMilliseconds: 5_000)
      broker.stop()
    }
    for lastOffsets in [[nil, 7], [7, nil]] as [[Int64?]] {
      let found = try probe.probes(Self.partitions, lastOffsets: lastOffsets, timeoutMilliseconds: Self.milliseconds)
      #expect(found.map(\.firstOffset) == lastOffsets.map { $0 ?? 0 })
      #expect(found.map(\.endOffset) == [20, 20])
      #expect(found.map { $0.record?.offset } == lastOffsets)
    }
  }

  @Test("Partitions that are opened together get each its own answers; one whose log cannot be read fails alone")
  func together() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    let (input, output) = (Topic.impressions.name, Topic.acceptedImpressions.name)
    for topic in [input, output] { try broker.createTopic(topic, partitions: 2) }
    let mac = try MessageMAC(ring: .sample)
    let producer = try KafkaProducer(configuration: Self.configuration(broker)) { _ in }
    for partition in Int32(0)..<2 {
      for _ in 0...partition {
        try producer.send(topic: input, partition: partition, key: nil, value: [1], reportID: 0)
      }
      let message = OutgoingMessage(topic: output, partition: partition, key: nil, value: [1], headers: [])
        .marked(TimelineMark(timeline: .sample(1), sequence: Int64(partition) + 5, batch: 3))
        .authenticated(by: mac, now: .sample)
      try producer.send(
        topic: output, partition: partition, key: nil, value: message.value, headers: message.headers, reportID: 0)
    }
    #expect(producer.close(timeoutMilliseconds: Self.milliseconds))
    let probe = try KafkaTopicProbe(configuration: Self.configuration(broker))
    defer { probe.close(timeoutMilliseconds: 5_000) }
    let service = ImpressionTrackingCore.ImpressionTracking(ring: .sample, windows: Windows())
    let logs = PartitionLogs(service: service, probe: probe, mac: mac)
    let questions = LogQuestions(topics: service.markedTopics, lastOffsets: [nil])
    let there = try logs.answers(to: [(1, questions), (0, questions)], beat: {}).map { try $0.get() }
    #expect(there.map { $0.marks.map { $0?.sequence } } == [[6], [5]])
    #expect(there.map { $0.probes.map(\.endOffset) } == [[2], [1]])
    let some = logs.answers(to: [(1, questions), (2, questions), (0, questions)], beat: {})
    #expect(try some[0].get() == there[0])
    #expect(try some[2].get() == there[1])
    guard case .failure(let error) = some[1] else {
      Issue.record("a partition that no topic has cannot be opened")
      return
    }
    #expect(error.kind == .logUnreadable)
  }

  @Test("A log that ends before the position, or has another record there, or none, is looked at as before")
  func others() throws {
    let (broker, probe) = try logs()
    defer {
      probe.close(timeoutMilliseconds: 5_000)
      broker.stop()
    }
    let last = try identity(probe, 19)
    #expect(try check(probe, last, next: 20)[0] == .same)
    #expect(try check(probe, nil, next: 0) == [.same, .same])
    // What lies between is gone, markers of transactions too.
    guard case .replaced = try check(probe, last, next: 25)[0] else {
      Issue.record("a log that ends before the position is another one")
      return
    }
    for offset in [Int64(20), 500] {
      let beyond = RecordIdentity(offset: offset, timestamp: 1, contentHash: 1)
      guard case .replaced = try check(probe, beyond, next: offset + 1)[0] else {
        Issue.record("a log without the record \(offset) is another one")
        return
      }
    }
    let other = RecordIdentity(offset: 19, timestamp: last.timestamp, contentHash: last.contentHash ^ 1)
    guard case .replaced = try check(probe, other, next: 20)[0] else {
      Issue.record("another record in its place is another log")
      return
    }
  }
}
