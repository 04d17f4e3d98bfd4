import Kafka

extension KafkaTopicProbe {
  /// The first record at `offset` or behind it; nil when the log ends first.
  package func record(
    topic: String, partition: Int32, offset: Int64, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> KafkaRecord? {
    let position = KafkaTopicPartitionOffset(topic: topic, partition: partition, offset: offset)
    return try records(at: [position], timeoutMilliseconds: timeoutMilliseconds) {
      $1.copy(topic: $0.topic)
    }[position.partition]
  }
}
