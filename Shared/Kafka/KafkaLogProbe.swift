import CLibrdkafka

/// Looks into partitions' logs without a group: their bounds, and single records. Used by one thread.
///
/// `rd_kafka_query_watermark_offsets` ignores its timeout in 2.0.2; the same question asked as a time stamp
/// (`rd_kafka_offsets_for_times` with the two logical times) keeps it.
package final class KafkaLogProbe {
  private let client: ClientHandle
  private let consumer: KafkaConsumer
  private var isClosed = false

  package init(configuration: KafkaConfiguration) throws(KafkaError) {
    client = try ClientHandle(configuration, role: .admin)
    consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: [])
  }

  deinit { if !isClosed { _ = client.destroy(timeoutMilliseconds: 0) } }

  /// The first offset that the log has, and the one that its next record will get.
  package struct Bounds: Equatable, Sendable {
    package let first: Int64
    package let end: Int64
  }

  package func bounds(topic: String, partition: Int32, timeoutMilliseconds: Int32) throws(KafkaError) -> Bounds {
    guard !isClosed else { throw .closed }
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    let count = try client.partitionCount(of: topic, timeoutMilliseconds: deadline.remainingMilliseconds)
    guard (0..<count).contains(partition) else {
      throw KafkaError(
        .unknownPartition, "the topic has \(count) partitions",
        partition: KafkaTopicPartition(topic: topic, partition: partition))
    }
    let first = try offset(topic, partition, time: KafkaTopicPartitionOffset.beginning, deadline)
    let end = try offset(topic, partition, time: KafkaTopicPartitionOffset.end, deadline)
    return Bounds(first: first, end: end)
  }

  /// The number of partitions of a topic.
  package func partitionCount(topic: String, timeoutMilliseconds: Int32) throws(KafkaError) -> Int32 {
    guard !isClosed else { throw .closed }
    return try client.partitionCount(of: topic, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// The first record at `offset` or behind it (transaction markers and compaction leave holes: look at its offset);
  /// nil when the log ends first. Throws `offsetOutOfRange` when the log does not have the offset, `timedOut`.
  package func record(
    topic: String, partition: Int32, offset: Int64, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> KafkaRecord? {
    let place = KafkaTopicPartitionOffset(topic: topic, partition: partition, offset: offset)
    try consumer.assign([place])
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    var answer: Result<KafkaRecord?, KafkaError>?
    var isFirstPoll = true
    while answer == nil, isFirstPoll || !deadline.isOver {
      isFirstPoll = false
      var found: KafkaRecord?
      let wait = deadline.remainingMilliseconds
      let events = try consumer.poll(timeoutMilliseconds: wait, recordsMaximum: 1) { record in
        found = record.copy(topic: topic)
      }
      if let found {
        answer = .success(found)
      } else {
        answer = answerWithoutRecord(events, place.partition)
      }
    }
    try consumer.unassign()
    guard let answer else {
      throw KafkaError(.timedOut, "no answer in time", isRetriable: true, partition: place.partition)
    }
    return try answer.get()
  }

  private func answerWithoutRecord(
    _ events: [KafkaConsumerEvent], _ place: KafkaTopicPartition
  ) -> Result<KafkaRecord?, KafkaError>? {
    for event in events {
      switch event {
      case .endReached(let index, place.partition, _) where consumer.topics[index] == place.topic:
        return .success(nil)
      case .error(let error) where error.isFatal || error.partition == place: return .failure(error)
      case .error(let error) where error.kind == .unknownTopic || error.kind == .unknownPartition:
        return .failure(error)
      default: continue
      }
    }
    return nil
  }

  private func offset(
    _ topic: String, _ partition: Int32, time: Int64, _ deadline: Deadline
  ) throws(KafkaError) -> Int64 {
    let list = TopicPartitionList([KafkaTopicPartitionOffset(topic: topic, partition: partition, offset: time)])
    try KafkaError.check(
      list.withPointer { list in
        rd_kafka_offsets_for_times(client.pointer, list, max(deadline.remainingMilliseconds, 1))
      })
    if let error = list.firstError { throw error }
    return list.firstOffset ?? -1
  }

  /// Ends both clients within about the given time.
  package func close(timeoutMilliseconds: Int32) {
    guard !isClosed else { return }
    isClosed = true
    consumer.close(timeoutMilliseconds: timeoutMilliseconds)
    _ = client.destroy(timeoutMilliseconds: timeoutMilliseconds)
  }
}
