import ForeignClients
import Foundation
import LocalProcesses
import TestServers
import TestValues
import Testing
import Threads

@testable import Kafka

@Suite(
  "Against a real Kafka", .enabled(if: KafkaInstallation.isAvailable, "no Kafka in KAFKA_HOME"),
  WithRealKafka(), .serialized, .timeLimit(.minutes(10)))
struct RealKafkaTests {
  private let kafka: RealKafka

  init() throws { kafka = try #require(RealKafka.current) }

  @Test("Topics are made with their settings, found again, and grow from 4 to 8 partitions under a running producer")
  func topics() throws {
    let admin = try KafkaAdmin(configuration: kafka.configuration)
    defer { admin.close() }
    let small = KafkaTopicSpecification(
      name: "growing", partitionCount: 4, settings: ["message.timestamp.type": "LogAppendTime"])
    #expect(try admin.ensure(small) == .created)
    #expect(try admin.ensure(small) == .existed(partitionCount: 4))
    #expect(try admin.partitionCount(topic: "growing") == 4)

    let reports = Reports()
    let producer = try kafka.configuration.producer(reports)
    try producer.send(
      topic: "growing", partition: 3, key: [1], value: [], timestampMilliseconds: 1_000_000, reportID: 1)
    let unknown = #expect(throws: KafkaError.self) {
      try producer.send(topic: "growing", partition: 7, key: nil, value: [1], reportID: 2)
    }
    #expect(unknown?.kind == .unknownPartition)

    let large = KafkaTopicSpecification(name: "growing", partitionCount: 8)
    #expect(try admin.ensure(large) == .grown(from: 4, to: 8))
    #expect(try admin.ensure(small) == .existed(partitionCount: 8))
    try producer.warmUp(topics: ["growing"], timeoutMilliseconds: 10_000)
    // The producer asks again at most once a second.
    let deadline = Deadline(afterMilliseconds: 20_000)
    var isSent = false
    while !isSent, !deadline.isOver {
      isSent = (try? producer.send(topic: "growing", partition: 7, key: nil, value: [9], reportID: 3)) != nil
    }
    #expect(isSent)
    #expect(producer.close(timeoutMilliseconds: 20_000))
    #expect(Set(reports.all.map(\.reportID)) == [1, 3])
    #expect(reports.all.allSatisfy { $0.error == nil && $0.offset == 0 })

    let probe = try KafkaTopicProbe(configuration: kafka.configuration)
    defer { probe.close(timeoutMilliseconds: 5_000) }
    let record = try #require(
      try probe.record(topic: "growing", partition: 3, offset: 0, timeoutMilliseconds: 20_000))
    #expect(record.timestampType == .logAppendTime)
    #expect(record.timestampMilliseconds > 1_600_000_000_000)
    #expect(record.key == [1])
    #expect(record.value == [])

    try admin.delete(topic: "growing")
    let deleted = #expect(throws: KafkaError.self) { try admin.delete(topic: "growing") }
    #expect(deleted?.kind == .unknownTopic)
  }

  @Test("An existing topic gets the settings that it must have, and keeps those that people have made")
  func settings() throws {
    let admin = try KafkaAdmin(configuration: kafka.configuration)
    defer { admin.close() }
    try admin.ensure(
      KafkaTopicSpecification(
        name: "set", partitionCount: 1, settings: ["retention.ms": "1000000", "compression.type": "lz4"]))
    let wanted = ["compression.type": "uncompressed", "max.message.bytes": "1048588"]
    #expect(try admin.settings(of: "set")["compression.type"] == "lz4")
    #expect(try admin.bring("set", to: wanted) == ["compression.type"])
    // The broker answers once its controller has the change, and shows it a moment later.
    #expect(try Waiting.until { try admin.settings(of: "set")["compression.type"] == "uncompressed" })
    let inForce = try admin.settings(of: "set")
    #expect(inForce["max.message.bytes"] == "1048588")
    #expect(inForce["retention.ms"] == "1000000")
    #expect(try admin.bring("set", to: wanted).isEmpty)
    let unknown = #expect(throws: KafkaError.self) { try admin.settings(of: "unset") }
    #expect(unknown?.kind == .unknownTopic)
    try admin.delete(topic: "set")
  }

  @Test("A topic of clients takes no batch that is larger unpacked than its limit, however small it is packed")
  func bombs() throws {
    let admin = try KafkaAdmin(configuration: kafka.configuration)
    defer { admin.close() }
    let settings = ["compression.type": "uncompressed", "max.message.bytes": "\(1 << 20 + 12)"]
    try admin.ensure(KafkaTopicSpecification(name: "bombs", partitionCount: 1, settings: settings))
    for (number, codec) in ["gzip", "lz4", "zstd", "snappy"].enumerated() {
      for (size, isTaken) in [(8 << 20, false), (1_000_000, true)] {
        let reports = Reports()
        var configuration = kafka.configuration
        configuration.properties = [
          "compression.type": codec, "message.max.bytes": "100000000", "batch.size": "100000000",
          "enable.idempotence": "false",
        ]
        let producer = try configuration.producer(reports)
        try producer.send(
          topic: "bombs", partition: 0, key: nil, value: [UInt8](repeating: 0, count: size), reportID: UInt64(number))
        producer.close(timeoutMilliseconds: 20_000)
        #expect(reports.all.count == 1 && (reports.all[0].error == nil) == isTaken, "\(codec), \(size) bytes")
      }
    }
    try admin.delete(topic: "bombs")
  }

  @Test("A bad topic is refused with its reason")
  func badTopic() throws {
    let admin = try KafkaAdmin(configuration: kafka.configuration)
    defer { admin.close() }
    let bad = [
      KafkaTopicSpecification(name: "a b", partitionCount: 1),
      KafkaTopicSpecification(name: "ok", partitionCount: 1, replicationFactor: 3),
      KafkaTopicSpecification(name: "ok", partitionCount: 1, settings: ["no.such.setting": "1"]),
    ]
    for topic in bad {
      let error = #expect(throws: KafkaError.self) { try admin.ensure(topic) }
      #expect(error?.kind == .configuration)
      #expect(error?.message.isEmpty == false)
    }
    let unknown = #expect(throws: KafkaError.self) { try admin.partitionCount(topic: "unknown") }
    #expect(unknown?.kind == .unknownTopic)
  }

  @Test("Records removed from a log's start move its bounds, and their offsets are out of range")
  func retention() throws {
    let admin = try KafkaAdmin(configuration: kafka.configuration)
    defer { admin.close() }
    try admin.ensure(KafkaTopicSpecification(name: "shrinking", partitionCount: 1))
    let producer = try kafka.configuration.producer(Reports())
    try producer.sendNumbers(0..<100, topic: "shrinking", partition: 0)
    #expect(producer.close(timeoutMilliseconds: 20_000))
    try admin.deleteRecords(topic: "shrinking", partition: 0, before: 60)
    let probe = try KafkaTopicProbe(configuration: kafka.configuration)
    defer { probe.close(timeoutMilliseconds: 5_000) }
    #expect(
      try probe.bounds(topic: "shrinking", partition: 0, timeoutMilliseconds: 10_000)
        == KafkaTopicProbe.Bounds(first: 60, end: 100))
    #expect(try probe.record(topic: "shrinking", partition: 0, offset: 60, timeoutMilliseconds: 10_000)?.number == 60)
    let error = #expect(throws: KafkaError.self) {
      try probe.record(topic: "shrinking", partition: 0, offset: 59, timeoutMilliseconds: 10_000)
    }
    #expect(error?.kind == .offsetOutOfRange)
  }

  @Test("Two topics' partitions are read together, and the position is committed for lag tools without joining a group")
  func group() throws {
    let admin = try KafkaAdmin(configuration: kafka.configuration)
    defer { admin.close() }
    let topics = ["left", "right"]
    for topic in topics { try admin.ensure(KafkaTopicSpecification(name: topic, partitionCount: 2)) }
    let producer = try kafka.configuration.producer(Reports())
    for topic in topics {
      for partition in Int32(0)..<2 { try producer.sendNumbers(0..<1_000, topic: topic, partition: partition) }
    }
    #expect(producer.close(timeoutMilliseconds: 20_000))
    let consumer = try KafkaConsumer(configuration: kafka.configuration, groupID: "pair", topics: topics)
    try consumer.assign(
      topics.flatMap { topic in
        (Int32(0)..<2).map { KafkaTopicPartitionOffset(topic: topic, partition: $0, offset: 0) }
      })
    let records = try consumer.read(count: 4_000, timeoutMilliseconds: 60_000)
    for topic in topics {
      for partition in Int32(0)..<2 {
        #expect(
          records.filter { $0.topic == topic && $0.partition == partition }.map(\.number) == Array(0..<1_000))
      }
    }
    let place = KafkaTopicPartitionOffset(topic: "left", partition: 1, offset: 1_000)
    try consumer.commit(offsets: [place])
    try CommittedOffset.expect(1_000, of: place.partition, group: "pair", in: kafka.configuration)
    #expect(consumer.close(timeoutMilliseconds: 10_000))
  }

  @Test(
    "A transaction that somebody leaves open does not stop the reading, and its marker leaves a hole in the offsets")
  func openTransaction() throws {
    let admin = try KafkaAdmin(configuration: kafka.configuration)
    defer { admin.close() }
    try admin.ensure(KafkaTopicSpecification(name: "held", partitionCount: 1))
    let foreign = try ForeignTransaction(bootstrapServers: kafka.bootstrapServers, id: "foreign")
    try foreign.write(topic: "held", partition: 0, value: Array("0".utf8))
    let producer = try kafka.configuration.producer(Reports())
    try producer.sendNumbers(1..<3, topic: "held", partition: 0)

    let consumer = try KafkaConsumer(configuration: kafka.configuration, groupID: nil, topics: ["held"])
    try consumer.assign([KafkaTopicPartitionOffset(topic: "held", partition: 0, offset: 0)])
    #expect(try consumer.read(count: 3).map(\.number) == [0, 1, 2])
    let probe = try KafkaTopicProbe(configuration: kafka.configuration)
    defer { probe.close(timeoutMilliseconds: 5_000) }
    #expect(try probe.bounds(topic: "held", partition: 0, timeoutMilliseconds: 10_000).end == 3)
    try foreign.commit()
    // The broker writes the marker after it has answered.
    let deadline = Deadline(afterMilliseconds: 20_000)
    var end: Int64 = 0
    while end < 4, !deadline.isOver {
      end = try probe.bounds(topic: "held", partition: 0, timeoutMilliseconds: 10_000).end
    }
    try producer.sendNumbers(3..<4, topic: "held", partition: 0)
    let last = try consumer.read(count: 1)
    #expect(last.map(\.number) == [3])
    #expect(last.map(\.offset) == [4])
    #expect(producer.close(timeoutMilliseconds: 10_000))

    // Asked for the marker's own offset, the probe gives the record behind it.
    #expect(try probe.record(topic: "held", partition: 0, offset: 3, timeoutMilliseconds: 10_000)?.offset == 4)
    consumer.close(timeoutMilliseconds: 10_000)
  }
}
