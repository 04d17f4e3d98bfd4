import Foundation
import Records
import Testing

@testable import Kafka

@Suite("Records go to the embedded broker and come back", .timeLimit(.minutes(10)))
struct RoundTripTests {
  @Test("keys, values and headers come back as they were sent; null and empty are different")
  func roundTrip() throws {
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic("events", partitions: 2)
    let configuration = KafkaConfiguration.embedded(broker)
    let reports = Reports()
    let producer = try configuration.producer(reports)
    try producer.warmUp(topics: ["events"], timeoutMilliseconds: 10_000)
    #expect(producer.partitionCount(topic: "events") == 2)

    let headers = [
      RecordHeader("ce_id", "1"), RecordHeader(name: Array("none".utf8), value: nil),
      RecordHeader(name: Array("empty".utf8), value: []), RecordHeader("ce_id", "again"),
    ]
    let sent: [(key: [UInt8]?, value: [UInt8]?, headers: [RecordHeader])] = [
      ([1, 2], [3, 0, 4], headers), (nil, nil, []), ([], [], []), ([9], nil, [headers[0]]),
    ]
    for (index, record) in sent.enumerated() {
      try producer.send(
        topic: "events", partition: 1, key: record.key, value: record.value, headers: record.headers,
        timestampMilliseconds: 1_700_000_000_000, reportID: UInt64(index))
    }
    #expect(producer.close(timeoutMilliseconds: 10_000))
    let delivered = reports.wait(count: 4)
    #expect(delivered.map(\.reportID) == [0, 1, 2, 3])
    #expect(delivered.map(\.offset) == [0, 1, 2, 3])
    #expect(delivered.allSatisfy { $0.error == nil })

    let consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: ["events"])
    try consumer.assign([
      KafkaTopicPartitionOffset(topic: "events", partition: 1, offset: KafkaTopicPartitionOffset.beginning)
    ])
    let received = try consumer.read(count: 4)
    #expect(received.map(\.key) == sent.map(\.key))
    #expect(received.map(\.value) == sent.map(\.value))
    #expect(received.map(\.headers) == sent.map(\.headers))
    #expect(received.map(\.offset) == [0, 1, 2, 3])
    #expect(received.allSatisfy { $0.partition == 1 && $0.timestampMilliseconds == 1_700_000_000_000 })
    #expect(received.first?.timestampType == .createTime)
    #expect(consumer.close(timeoutMilliseconds: 10_000))
  }
}
