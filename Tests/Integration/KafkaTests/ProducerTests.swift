import BrokerFaults
import Foundation
import Records
import Testing
import Threads

@testable import Kafka

@Suite("A producer", .timeLimit(.minutes(10)))
struct ProducerTests {
  @Test("A partition that does not exist is an error, with headers too, and the producer goes on")
  func unknownPartition() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 2)
    let reports = Reports()
    let producer = try KafkaConfiguration.embedded(broker).producer(reports)
    for partition in [Int32(2), 9_999, -1, .max, .min] {
      let error = #expect(throws: KafkaError.self) {
        try producer.send(
          topic: "events", partition: partition, key: nil, value: [1], headers: [RecordHeader("a", "b")], reportID: 1)
      }
      #expect(error?.kind == .unknownPartition)
    }
    try producer.send(
      topic: "events", partition: 1, key: nil, value: [1], headers: [RecordHeader("a", "b")], reportID: 7)
    #expect(producer.close(timeoutMilliseconds: 10_000))
    #expect(reports.all == [KafkaDeliveryReport(reportID: 7, offset: 0, error: nil)])
    #expect(throws: KafkaError.closed) {
      try producer.send(topic: "events", partition: 1, key: nil, value: [1], reportID: 8)
    }
  }

  @Test("A record too large is refused and leaves the credit as it was")
  func tooLarge() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let producer = try KafkaConfiguration.embedded(broker).producer(Reports())
    let error = #expect(throws: KafkaError.self) {
      try producer.send(
        topic: "events", partition: 0, key: nil, value: [UInt8](repeating: 0, count: 1_500_000),
        headers: [RecordHeader("a", "b")], reportID: 1)
    }
    #expect(error?.kind == .recordRefused)
    #expect(producer.recordsInFlight == 0)
    #expect(producer.failure == nil)
    #expect(producer.close(timeoutMilliseconds: 10_000))
  }

  @Test("Without credit a send waits, then says so; with credit it goes on", arguments: [true, false])
  func credit(byRecords: Bool) throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    var configuration = KafkaConfiguration.embedded(broker)
    let value = [UInt8](repeating: 1, count: 100)
    let headers = [RecordHeader("a", [UInt8](repeating: 2, count: 50)), RecordHeader("none", nil)]
    let bytes = OutgoingRecord.recordBytes + 100 + 2 * OutgoingRecord.headerBytes + 55
    if byRecords { configuration.recordsInFlightMaximum = 10 } else { configuration.bytesInFlightMaximum = 10 * bytes }
    let reports = Reports()
    let producer = try configuration.producer(reports)
    try producer.warmUp(topics: ["events"], timeoutMilliseconds: 10_000)
    broker.setBroker(1, isUp: false)
    for id in UInt64(0)..<10 {
      try producer.send(topic: "events", partition: 0, key: nil, value: value, headers: headers, reportID: id)
    }
    let error = #expect(throws: KafkaError.self) {
      try producer.send(
        topic: "events", partition: 0, key: nil, value: value, headers: headers, reportID: 10, timeoutMilliseconds: 50)
    }
    #expect(error?.kind == .noCredit)
    #expect(error?.isRetriable == true)
    #expect(producer.recordsInFlight == 10)
    broker.setBroker(1, isUp: true)
    for id in UInt64(10)..<40 {
      try producer.send(
        topic: "events", partition: 0, key: nil, value: value, headers: headers, reportID: id,
        timeoutMilliseconds: 30_000)
    }
    #expect(producer.close(timeoutMilliseconds: 20_000))
    #expect(reports.all.map(\.reportID) == Array(0..<40))
    #expect(reports.all.map(\.offset) == Array(0..<40))
  }

  @Test("A refused record fails the producer; a new one sends again what has no report of success")
  func rebuild() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let configuration = KafkaConfiguration.embedded(broker)
    let reports = Reports()
    let failures = Monitor<[KafkaError]>([])
    let producer = try KafkaProducer(
      configuration: configuration, failed: { error in failures.update { $0.append(error) } },
      reports: { reports.add($0) })
    try producer.sendNumbers(0..<5, topic: "events", partition: 0)
    #expect(reports.wait(count: 5).count == 5)
    broker.pushFaults([.messageTooLarge])
    try producer.sendNumbers(5..<6, topic: "events", partition: 0)
    #expect(failures.wait(timeoutMilliseconds: 20_000) { $0.count == 1 })
    let error = #expect(throws: KafkaError.self) {
      try producer.sendNumbers(6..<7, topic: "events", partition: 0)
    }
    #expect(error?.kind == .producerFailed)
    #expect(producer.failure != nil)
    producer.abort()

    let delivered = reports.all.filter { $0.error == nil }.count
    let successor = try configuration.producer(reports)
    try successor.sendNumbers(delivered..<10, topic: "events", partition: 0)
    #expect(successor.close(timeoutMilliseconds: 20_000))
    let consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: ["events"])
    try consumer.assign([KafkaTopicPartitionOffset(topic: "events", partition: 0, offset: 0)])
    #expect(try consumer.read(count: 10).map(\.number) == Array(0..<10))
    consumer.close(timeoutMilliseconds: 5_000)
    #expect(failures.withLock { $0.count } == 1)
  }

  @Test("A refused record that nobody relies on is lost alone: the producer goes on")
  func expendable() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("answers", partitions: 1)
    try broker.createTopic("events", partitions: 1)
    let reports = Reports()
    let producer = try KafkaProducer(
      configuration: .embedded(broker), isExpendable: { $0 == 100 }, reports: { reports.add($0) })
    try producer.sendNumbers(0..<5, topic: "events", partition: 0)
    #expect(reports.wait(count: 5).count == 5)
    broker.pushFaults([.messageTooLarge])
    try producer.sendNumbers(100..<101, topic: "answers", partition: 0)
    #expect(reports.wait(count: 6).last?.error?.kind == .recordRefused)
    try producer.sendNumbers(5..<10, topic: "events", partition: 0)
    try producer.sendNumbers(100..<101, topic: "answers", partition: 0)
    #expect(reports.wait(count: 12).filter { $0.error == nil }.count == 11)
    #expect(producer.failure == nil)
    #expect(producer.close(timeoutMilliseconds: 20_000))
  }

  @Test("Retriable faults of the broker are overcome without a hole")
  func retriable() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let reports = Reports()
    let producer = try KafkaConfiguration.embedded(broker).producer(reports)
    broker.pushFaults([.notEnoughReplicas, .notLeader])
    try producer.sendNumbers(0..<20, topic: "events", partition: 0)
    #expect(reports.wait(count: 20).map(\.reportID) == Array(0..<20))
    #expect(producer.failure == nil)
    #expect(producer.close(timeoutMilliseconds: 10_000))
  }

  @Test("Closing is bounded when the broker has gone, and says that not everything was delivered")
  func boundedClose() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let producer = try KafkaConfiguration.embedded(broker).producer(Reports())
    try producer.warmUp(topics: ["events"], timeoutMilliseconds: 10_000)
    broker.setBroker(1, isUp: false)
    try producer.sendNumbers(0..<3, topic: "events", partition: 0)
    let started = MonotonicClock.milliseconds
    #expect(!producer.close(timeoutMilliseconds: 500))
    #expect(MonotonicClock.milliseconds - started < 20_000)
  }

  @Test("A producer that has nothing in flight ends at once: no restart waits for it")
  func idleClose() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 1)
    let milliseconds = try (0..<9).map { _ in
      let producer = try KafkaConfiguration.embedded(broker).producer(Reports())
      try producer.warmUp(topics: ["events"], timeoutMilliseconds: 10_000)
      let began = MonotonicClock.milliseconds
      #expect(producer.close(timeoutMilliseconds: 10_000))
      return MonotonicClock.milliseconds - began
    }
    // A poll of its owner thread takes 100 ms; a busy machine may hold up most.
    #expect(milliseconds.contains { $0 < 80 }, "\(milliseconds)")
  }
}
