import CLibrdkafka
import Testing
import Threads

@testable import Kafka

/// The position of a group as the brokers tell it to lag tools.
enum CommittedOffset {
  private static let milliseconds: Int32 = 20_000

  /// Waits until it is `offset`: a commit is not waited for.
  static func expect(
    _ offset: Int64, of partition: KafkaTopicPartition, group: String, in configuration: KafkaConfiguration
  ) throws {
    let client = try ClientHandle(configuration, role: .consumer(groupID: group))
    defer { _ = client.destroy(timeoutMilliseconds: 1_000) }
    let deadline = Deadline(afterMilliseconds: milliseconds)
    var found: Int64?
    while found != offset, !deadline.isOver {
      let list = TopicPartitionList([partition])
      try unsafe KafkaError.check(list.withPointer { unsafe rd_kafka_committed(client.pointer, $0, milliseconds) })
      found = list.offset(of: partition)
    }
    #expect(found == offset)
  }
}
