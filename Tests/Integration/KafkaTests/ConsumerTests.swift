import Foundation
import Testing

@testable import Kafka

@Suite("A consumer", .timeLimit(.minutes(10)))
struct ConsumerTests {
  private func place(_ topic: String, _ partition: Int32, _ offset: Int64) -> KafkaTopicPartitionOffset {
    KafkaTopicPartitionOffset(topic: topic, partition: partition, offset: offset)
  }

  /// A broker with one topic of `partitions`, each holding the numbers `0..<count`.
  private func filledBroker(partitions: Int32, count: Int) throws -> EmbeddedBroker {
    let broker = try EmbeddedBroker()
    try broker.createTopic("events", partitions: partitions)
    let reports = Reports()
    let producer = try KafkaConfiguration.embedded(broker).producer(reports)
    for partition in 0..<partitions { try producer.sendNumbers(0..<count, topic: "events", partition: partition) }
    #expect(producer.close(timeoutMilliseconds: 20_000))
    return broker
  }

  @Test("A partition is handed over at an explicit offset, and each record is read by one of two members")
  func rebalance() throws {
    let broker = try filledBroker(partitions: 2, count: 100)
    defer { broker.stop() }
    let configuration = KafkaConfiguration.embedded(broker)
    let first = try KafkaConsumer(configuration: configuration, groupID: "group", topics: ["events"])
    var next: [Int32: Int64] = [0: 0, 1: 0]
    var seen: [Int32: [Int]] = [:]
    func take(_ records: [KafkaRecord]) {
      for record in records {
        #expect(record.offset == next[record.partition])
        next[record.partition] = record.offset + 1
        seen[record.partition, default: []].append(record.number ?? -1)
      }
    }

    var assigned: [Int32] = []
    take(
      try first.read(count: 120) { event in
        guard case .assign(let partitions) = event else { return }
        assigned = partitions.map(\.partition).sorted()
        try first.assign(partitions.map { place($0.topic, $0.partition, next[$0.partition] ?? -1) })
      })
    #expect(assigned == [0, 1])

    let second = try KafkaConsumer(configuration: configuration, groupID: "group", topics: ["events"])
    var owned: [ObjectIdentifier: [Int32]] = [ObjectIdentifier(first): [0, 1]]
    var revokes = 0
    func answer(_ consumer: KafkaConsumer, _ event: KafkaConsumerEvent) throws {
      switch event {
      case .assign(let partitions):
        owned[ObjectIdentifier(consumer)] = partitions.map(\.partition)
        try consumer.assign(partitions.map { place($0.topic, $0.partition, next[$0.partition] ?? -1) })
      case .revoke:
        revokes += 1
        owned[ObjectIdentifier(consumer)] = []
        try consumer.unassign()
      default: return
      }
    }
    // Nothing more is read until the group has changed, so that there is something left to hand over.
    try first.pause([0, 1].map { KafkaTopicPartition(topic: "events", partition: $0) })
    let deadline = Deadline(afterMilliseconds: 30_000)
    // All may be read before the second one hears of its partition, where that one was read to its end already.
    while seen.values.map(\.count).reduce(0, +) < 200 || owned.values.map(\.count) != [1, 1], !deadline.isOver {
      take(try first.read(count: 50, timeoutMilliseconds: 200) { try answer(first, $0) })
      take(try second.read(count: 50, timeoutMilliseconds: 200) { try answer(second, $0) })
    }
    #expect(owned.values.map(\.count) == [1, 1])
    #expect(revokes >= 1)
    #expect(seen == [0: Array(0..<100), 1: Array(0..<100)])
    #expect(first.close(timeoutMilliseconds: 10_000))
    #expect(second.close(timeoutMilliseconds: 10_000))
  }

  @Test("Pause and resume lose nothing and repeat nothing, also with records fetched ahead")
  func pause() throws {
    let broker = try filledBroker(partitions: 2, count: 1_000)
    defer { broker.stop() }
    let consumer = try KafkaConsumer(
      configuration: .embedded(broker), groupID: nil, topics: ["events"])
    try consumer.assign([place("events", 0, 0), place("events", 1, 0)])
    let paused = KafkaTopicPartition(topic: "events", partition: 0)
    var records = try consumer.read(count: 300)
    var whilePaused: [KafkaRecord] = []
    for _ in 0..<3 {
      try consumer.pause([paused])
      whilePaused = try consumer.read(count: 200, timeoutMilliseconds: 1_000)
      #expect(whilePaused.allSatisfy { $0.partition == 1 })
      records += whilePaused
      // Resuming what was never paused must do nothing.
      try consumer.resume([paused, KafkaTopicPartition(topic: "events", partition: 1)])
      records += try consumer.read(count: 100)
    }
    records += try consumer.read(count: 2_000 - records.count)
    for partition in Int32(0)...1 {
      #expect(records.filter { $0.partition == partition }.map(\.number) == Array(0..<1_000))
    }
    // A pause does not outlive its assignment.
    try consumer.pause([paused])
    try consumer.assign([place("events", 0, 990)])
    #expect(try consumer.read(count: 10).map(\.number) == Array(990..<1_000))
    consumer.close(timeoutMilliseconds: 10_000)
  }

  @Test("The log's end is told with the next offset; an offset that the log lacks is an error with its partition")
  func ends() throws {
    let broker = try filledBroker(partitions: 1, count: 7)
    defer { broker.stop() }
    let consumer = try KafkaConsumer(configuration: .embedded(broker), groupID: nil, topics: ["events"])
    try consumer.assign([place("events", 0, 3)])
    var events: [KafkaConsumerEvent] = []
    let deadline = Deadline(afterMilliseconds: 20_000)
    var numbers: [Int?] = []
    while events.isEmpty, !deadline.isOver {
      events += try consumer.poll(timeoutMilliseconds: 500, recordsMaximum: 100) { record in
        numbers.append(record.copy(topic: "events").number)
      }
    }
    #expect(numbers == [3, 4, 5, 6])
    #expect(events == [.endReached(topicIndex: 0, partition: 0, offset: 7)])

    try consumer.assign([place("events", 0, 1_000)])
    var failure: KafkaError?
    #expect(
      try consumer.read(count: 1, timeoutMilliseconds: 5_000) { event in
        if case .error(let error) = event { failure = failure ?? error }
      }.isEmpty)
    #expect(failure?.kind == .offsetOutOfRange)
    #expect(failure?.partition == KafkaTopicPartition(topic: "events", partition: 0))
    consumer.close(timeoutMilliseconds: 10_000)
  }

  @Test("Another thread wakes a blocked poll")
  func wakeUp() throws {
    let broker = try filledBroker(partitions: 1, count: 0)
    defer { broker.stop() }
    let consumer = try KafkaConsumer(configuration: .embedded(broker), groupID: nil, topics: [])
    let waker = consumer.waker
    let isBlocked = Monitor(false)
    Thread.detachNewThread {
      _ = isBlocked.wait(timeoutMilliseconds: 5_000) { $0 }
      waker.wakeUp()
    }
    isBlocked.update { $0 = true }
    let started = Monotonic.milliseconds
    _ = try consumer.poll(timeoutMilliseconds: 60_000, recordsMaximum: 1) { _ in }
    #expect(Monotonic.milliseconds - started < 59_000)
    consumer.close(timeoutMilliseconds: 10_000)
    waker.wakeUp()
    #expect(throws: KafkaError.closed) { try consumer.poll(timeoutMilliseconds: 0, recordsMaximum: 1) { _ in } }
  }

  @Test("Closing is bounded when the broker has gone")
  func boundedClose() throws {
    let broker = try filledBroker(partitions: 1, count: 10)
    defer { broker.stop() }
    let consumer = try KafkaConsumer(configuration: .embedded(broker), groupID: "group", topics: ["events"])
    _ = try consumer.read(count: 10) { event in
      if case .assign(let partitions) = event {
        try consumer.assign(partitions.map { KafkaTopicPartitionOffset($0, offset: 0) })
      }
    }
    broker.setBroker(1, isUp: false)
    let started = Monotonic.milliseconds
    consumer.close(timeoutMilliseconds: 2_000)
    #expect(Monotonic.milliseconds - started < 10_000)
  }

  @Test("The probe tells a log's bounds and reads single records, and says what is not there")
  func probe() throws {
    let broker = try filledBroker(partitions: 2, count: 20)
    defer { broker.stop() }
    let probe = try KafkaLogProbe(configuration: .embedded(broker))
    defer { probe.close(timeoutMilliseconds: 5_000) }
    #expect(try probe.partitionCount(topic: "events", timeoutMilliseconds: 10_000) == 2)
    let bounds = try probe.bounds(topic: "events", partition: 1, timeoutMilliseconds: 10_000)
    #expect(bounds == KafkaLogProbe.Bounds(first: 0, end: 20))
    for offset in [Int64(19), 0, 7] {
      let record = try probe.record(topic: "events", partition: 1, offset: offset, timeoutMilliseconds: 10_000)
      #expect(record?.offset == offset)
      #expect(record?.number == Int(offset))
    }
    #expect(try probe.record(topic: "events", partition: 1, offset: 20, timeoutMilliseconds: 10_000) == nil)
    let beyond = #expect(throws: KafkaError.self) {
      try probe.record(topic: "events", partition: 1, offset: 500, timeoutMilliseconds: 10_000)
    }
    #expect(beyond?.kind == .offsetOutOfRange)
    let unknown = #expect(throws: KafkaError.self) {
      try probe.bounds(topic: "events", partition: 2, timeoutMilliseconds: 10_000)
    }
    #expect(unknown?.kind == .unknownPartition)
  }
}
