import BrokerFaults
import Foundation
import Records
import TestServers
import Testing
import Threads

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

  @Test("A partition is handed over at an explicit offset, and each record is read by one of two consumers")
  func handover() throws {
    let broker = try filledBroker(partitions: 2, count: 100)
    defer { broker.stop() }
    let first = try KafkaConsumer(configuration: .embedded(broker), groupID: "group", topics: ["events"])
    let second = try KafkaConsumer(configuration: .embedded(broker), groupID: "group", topics: ["events"])
    var seen: [Int32: [Int?]] = [:]
    func read(_ consumer: KafkaConsumer, count: Int) throws {
      for record in try consumer.read(count: count) { seen[record.partition, default: []].append(record.number) }
    }
    try first.assign([place("events", 0, 0), place("events", 1, 0)])
    try read(first, count: 120)
    // What was fetched ahead of partition 1 is not seen again, and of partition 0 nothing twice.
    let (zero, one) = (Int64(seen[0]?.count ?? 0), Int64(seen[1]?.count ?? 0))
    try first.assign([place("events", 0, zero)])
    try second.assign([place("events", 1, one)])
    try read(first, count: 100 - Int(zero))
    try read(second, count: 100 - Int(one))
    #expect(seen == [0: Array(0..<100), 1: Array(0..<100)])
    #expect(first.close(timeoutMilliseconds: 10_000))
    #expect(second.close(timeoutMilliseconds: 10_000))
  }

  @Test("However soon one assignment follows another, the process lives, and the last one is read")
  func assignments() throws {
    let broker = try filledBroker(partitions: 8, count: 10)
    defer { broker.stop() }
    let consumer = try KafkaConsumer(configuration: .embedded(broker), groupID: "group", topics: ["events"])
    for round in 0..<300 {
      try consumer.assign((0..<8).map { place("events", $0, Int64(round % 10)) })
      if round % 3 == 0 { try consumer.unassign() }
    }
    try consumer.assign((0..<8).map { place("events", $0, 5) })
    let read = try consumer.read(count: 40)
    #expect(Set(read.map { $0.number }) == [5, 6, 7, 8, 9] && read.count == 40)
    #expect(consumer.close(timeoutMilliseconds: 10_000))
  }

  @Test("Whoever belongs to no group commits its position in its name, for lag tools")
  func commit() throws {
    let broker = try filledBroker(partitions: 1, count: 10)
    defer { broker.stop() }
    let consumer = try KafkaConsumer(configuration: .embedded(broker), groupID: "group", topics: ["events"])
    try consumer.assign([place("events", 0, 0)])
    #expect(try consumer.read(count: 10).count == 10)
    try consumer.commit(offsets: [place("events", 0, 7)])
    try CommittedOffset.expect(7, of: place("events", 0, 0).partition, group: "group", in: .embedded(broker))
    #expect(consumer.close(timeoutMilliseconds: 10_000))
  }

  // librdkafka 2.0.2 by itself looks once a second whether there is room again: half a minute for these.
  @Test(
    "A backlog is read without rests, whether librdkafka's queue was full or the partition paused",
    arguments: [false, true])
  func backlog(pausing: Bool) throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let reports = Reports()
    var configuration = KafkaConfiguration.embedded(broker)
    configuration.properties = ["batch.num.messages": "10"]
    let producer = try configuration.producer(reports)
    try producer.sendNumbers(0..<300, topic: "events", partition: 0)
    #expect(producer.close(timeoutMilliseconds: 20_000))
    configuration = .embedded(broker)
    configuration.fetchBytesMaximum = 1
    if !pausing { configuration.consumerQueueRecordsMaximum = 10 }
    let consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: ["events"])
    try consumer.assign([place("events", 0, 0)])
    let deadline = Deadline(afterMilliseconds: 15_000)
    var numbers: [Int?] = []
    while numbers.count < 300, !deadline.isOver {
      numbers += try consumer.read(count: 10, timeoutMilliseconds: 2_000).map(\.number)
      guard pausing else { continue }
      try consumer.pause([KafkaTopicPartition(topic: "events", partition: 0)])
      try consumer.resume([KafkaTopicPartition(topic: "events", partition: 0)])
    }
    #expect(numbers == Array(0..<300))
    consumer.abandon()
  }

  @Test("After an assignment librdkafka is reminded of it for half a second or so, and no longer")
  func reminders() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let wakeUps = Monitor(0)
    var configuration = KafkaConfiguration.embedded(broker)
    configuration.properties["debug"] = "queue"
    configuration.log = { line in if line.facility == "WAKEUP" { wakeUps.update { $0 += 1 } } }
    let consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: ["events"])
    defer { consumer.abandon() }
    for _ in 0..<2 {
      try consumer.assign([place("events", 0, 0)])
      while try consumer.poll(timeoutMilliseconds: 20_000, recordsMaximum: 1, receive: { _ in }).isEmpty {}
      let atEnd = wakeUps.withLock { $0 }
      _ = try consumer.poll(timeoutMilliseconds: 1_500, recordsMaximum: 1) { _ in }
      let reminded = wakeUps.withLock { $0 }
      _ = try consumer.poll(timeoutMilliseconds: 1_500, recordsMaximum: 1) { _ in }
      let later = wakeUps.withLock { $0 }
      #expect(reminded - atEnd >= 4, "\(atEnd), \(reminded)")
      // librdkafka wakes its threads by itself now and then.
      #expect(later - reminded < (reminded - atEnd) / 2, "\(atEnd), \(reminded), \(later)")
    }
  }

  @Test("The waker ends a poll in the first moments after an assignment, too, when librdkafka is reminded")
  func wakes() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let consumer = try KafkaConsumer(configuration: .embedded(broker), groupID: nil, topics: ["events"])
    defer { consumer.abandon() }
    for milliseconds in 0..<40 as Range<Int64> {
      try consumer.assign([place("events", 0, 0)])
      // First comes the end of the log.
      while try consumer.poll(timeoutMilliseconds: 20_000, recordsMaximum: 1, receive: { _ in }).isEmpty {}
      let deadline = Deadline(afterMilliseconds: 15_000)
      let thread = OwnerThread("wakes") { [waker = consumer.waker] in
        _ = StopRequest().wait(milliseconds: milliseconds)
        waker.wakeUp()
      }
      let events = try consumer.poll(timeoutMilliseconds: 20_000, recordsMaximum: 1) { _ in }
      #expect(events.isEmpty && !deadline.isOver, "after \(milliseconds) ms")
      thread.join()
    }
  }

  @Test("One poll takes so many bytes and one record more, of whatever part of the records they are", arguments: 0..<3)
  func longKeys(part: Int) throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let producer = try KafkaConfiguration.embedded(broker).producer(Reports())
    let long = [UInt8](repeating: 120, count: 10_000)
    for number in 0..<30 as Range<UInt64> {
      try producer.send(
        topic: "events", partition: 0, key: part == 0 ? long : nil, value: part == 1 ? long : [],
        headers: part == 2 ? [RecordHeader(name: Array("name".utf8), value: long)] : [], reportID: number)
    }
    #expect(producer.close(timeoutMilliseconds: 20_000))
    let consumer = try KafkaConsumer(configuration: .embedded(broker), groupID: nil, topics: ["events"])
    defer { consumer.abandon() }
    try consumer.assign([place("events", 0, 0)])
    var offsets: [Int64] = []
    while offsets.count < 30 {
      let before = offsets.count
      _ = try consumer.poll(timeoutMilliseconds: 5_000, recordsMaximum: 1_000, bytesMaximum: 45_000) {
        offsets.append($0.offset)
      }
      try #require((1...5).contains(offsets.count - before))
    }
    #expect(offsets == Array(0..<30))
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
    let deadline = Deadline(afterMilliseconds: 60_000)
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
    while failure == nil, !deadline.isOver {
      let happened = try consumer.poll(timeoutMilliseconds: 500, recordsMaximum: 1) { record in
        Issue.record("offset \(record.offset) is not in the log")
      }
      for case .error(let error) in happened { failure = error }
    }
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
    _ = OwnerThread("waker") {
      _ = isBlocked.wait(timeoutMilliseconds: 5_000) { $0 }
      waker.wakeUp()
    }
    isBlocked.update { $0 = true }
    let started = MonotonicClock.milliseconds
    _ = try consumer.poll(timeoutMilliseconds: 60_000, recordsMaximum: 1) { _ in }
    #expect(MonotonicClock.milliseconds - started < 59_000)
    consumer.close(timeoutMilliseconds: 10_000)
    waker.wakeUp()
    #expect(throws: KafkaError.closed) { try consumer.poll(timeoutMilliseconds: 0, recordsMaximum: 1) { _ in } }
  }

  @Test("Closing is bounded when the broker has gone")
  func boundedClose() throws {
    let broker = try filledBroker(partitions: 1, count: 10)
    defer { broker.stop() }
    let consumer = try KafkaConsumer(configuration: .embedded(broker), groupID: "group", topics: ["events"])
    try consumer.assign([place("events", 0, 0)])
    #expect(try consumer.read(count: 10).count == 10)
    broker.setBroker(1, isUp: false)
    let started = MonotonicClock.milliseconds
    consumer.close(timeoutMilliseconds: 2_000)
    #expect(MonotonicClock.milliseconds - started < 10_000)
  }

  @Test("The probe tells a log's bounds and reads single records, and says what is not there")
  func probe() throws {
    let broker = try filledBroker(partitions: 2, count: 20)
    defer { broker.stop() }
    let probe = try KafkaTopicProbe(configuration: .embedded(broker))
    defer { probe.close(timeoutMilliseconds: 5_000) }
    #expect(try probe.partitionCount(topic: "events", timeoutMilliseconds: 10_000) == 2)
    let bounds = try probe.bounds(topic: "events", partition: 1, timeoutMilliseconds: 10_000)
    #expect(bounds == KafkaTopicProbe.Bounds(first: 0, end: 20))
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

  @Test("The counts of several topics are told, each once")
  func countsOfMany() throws {
    let broker = try filledBroker(partitions: 2, count: 1)
    defer { broker.stop() }
    try broker.createTopic("others", partitions: 5)
    let consumer = try KafkaConsumer(configuration: .embedded(broker), groupID: nil, topics: ["events"])
    defer { consumer.close(timeoutMilliseconds: 5_000) }
    #expect(
      try consumer.partitionCounts(of: ["others", "events", "others"], timeoutMilliseconds: 10_000)
        == ["events": 2, "others": 5])
  }

  @Test("The probe looks into many logs at once: a long one hides no other, and an end is told by what is left out")
  func probeOfMany() throws {
    let broker = try filledBroker(partitions: 3, count: 5_000)
    defer { broker.stop() }
    let probe = try KafkaTopicProbe(configuration: .embedded(broker))
    defer { probe.close(timeoutMilliseconds: 5_000) }
    let places = [place("events", 2, 7), place("events", 0, 4_999), place("events", 1, 5_000)]
    let bounds = try probe.bounds(of: places.map(\.partition), timeoutMilliseconds: 10_000)
    #expect(bounds == Array(repeating: KafkaTopicProbe.Bounds(first: 0, end: 5_000), count: 3))
    for _ in 0..<3 {
      let records = try probe.records(at: places, timeoutMilliseconds: 10_000) { $1.copy(topic: $0.topic) }
      #expect(records.mapValues(\.offset) == [places[0].partition: 7, places[1].partition: 4_999])
      #expect(records.mapValues(\.number) == [places[0].partition: 7, places[1].partition: 4_999])
    }
    let beyond = #expect(throws: KafkaError.self) {
      try probe.records(at: [places[0], place("events", 1, 9_999)], timeoutMilliseconds: 10_000) { $1.offset }
    }
    #expect(beyond?.kind == .offsetOutOfRange)
  }
}
