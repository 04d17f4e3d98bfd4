internal import CLibrdkafka

/// One `rd_kafka_topic_partition_list_t`, destroyed with this object; librdkafka copies what it is given.
///
/// The pointer is lent to closures only: Swift may end an object right after its last use, which for a pointer read
/// from it is before the call that gets the pointer.
@safe final class TopicPartitionList {
  private let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

  init(_ positions: [KafkaTopicPartitionOffset]) {
    unsafe pointer = unsafe rd_kafka_topic_partition_list_new(Int32(clamping: positions.count))
    for position in positions {
      let entry = unsafe rd_kafka_topic_partition_list_add(
        pointer, position.partition.topic, position.partition.partition)
      unsafe entry?.pointee.offset = position.offset
    }
  }

  convenience init(_ partitions: some Sequence<KafkaTopicPartition>) {
    self.init(partitions.map { KafkaTopicPartitionOffset($0, offset: Int64(RD_KAFKA_OFFSET_INVALID)) })
  }

  deinit { unsafe rd_kafka_topic_partition_list_destroy(pointer) }

  func withPointer<Value>(
    _ body: (UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) -> Value
  ) -> Value {
    withExtendedLifetime(self) { unsafe body(pointer) }
  }

  /// The offset beside a partition; librdkafka may have changed the order.
  func offset(of partition: KafkaTopicPartition) -> Int64? {
    unsafe withPointer {
      unsafe rd_kafka_topic_partition_list_find($0, partition.topic, partition.partition)?.pointee.offset
    }
  }

  /// The first error that librdkafka wrote beside a partition.
  var firstError: KafkaError? {
    for index in unsafe 0..<Int(pointer.pointee.cnt) {
      let entry = unsafe pointer.pointee.elems[index]
      guard unsafe entry.err != RD_KAFKA_RESP_ERR_NO_ERROR else { continue }
      let partition = unsafe KafkaTopicPartition(topic: String(cString: entry.topic), partition: entry.partition)
      return unsafe KafkaError(code: entry.err, partition: partition)
    }
    return nil
  }
}
