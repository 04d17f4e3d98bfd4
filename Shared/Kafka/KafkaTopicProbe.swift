internal import Threads

/// Looks into partitions' logs without a group: their bounds, and single records. Used by one thread.
///
/// Many partitions cost as few questions as one: whoever takes partitions over lets them wait for no more than that.
package final class KafkaTopicProbe {
  private let consumer: KafkaConsumer
  /// Partition counts as last told: a partition that there was is not asked for once more.
  private var counts: [String: Int32] = [:]
  private static let fetchWaitMilliseconds = 5
  private static let fetchBytesMaximum = 64 << 10

  package init(configuration: KafkaConfiguration) throws(KafkaError) {
    var configuration = configuration
    // One question after the other: the next one waits until this one's is answered.
    configuration.fetchWaitMillisecondsMaximum = Self.fetchWaitMilliseconds
    // One record of each partition is wanted, and a broker always sends the whole batch that it is in, but of more than one
    // partition in an answer only batches within this limit.
    configuration.fetchBytesMaximum = Self.fetchBytesMaximum
    consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: [])
  }

  /// The first offset that the log has, and the one that its next record will get.
  package struct Bounds: Equatable, Sendable {
    package let first: Int64
    package let end: Int64
  }

  package func bounds(topic: String, partition: Int32, timeoutMilliseconds: Int32) throws(KafkaError) -> Bounds {
    let partitions = [KafkaTopicPartition(topic: topic, partition: partition)]
    return try bounds(of: partitions, timeoutMilliseconds: timeoutMilliseconds)[0]
  }

  /// The bounds of each of these logs, which are different ones.
  package func bounds(
    of partitions: [KafkaTopicPartition], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [Bounds] {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    for partition in partitions { try check(partition, timeoutMilliseconds: deadline.remainingMilliseconds) }
    let first = try consumer.offsets(
      of: partitions, at: KafkaTopicPartitionOffset.beginning, timeoutMilliseconds: deadline.remainingMilliseconds)
    let end = try consumer.offsets(
      of: partitions, at: KafkaTopicPartitionOffset.end, timeoutMilliseconds: deadline.remainingMilliseconds)
    return zip(first, end).map { Bounds(first: $0, end: $1) }
  }

  /// The offset of the first record that came later than `timestampMilliseconds`; nil where none did.
  package func firstOffset(
    of partition: KafkaTopicPartition, after timestampMilliseconds: Int64, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Int64? {
    let offset = try consumer.offsets(
      of: [partition], at: timestampMilliseconds + 1, timeoutMilliseconds: timeoutMilliseconds)[0]
    return offset >= 0 ? offset : nil
  }

  /// Whether the partition is there: librdkafka would wait for one that is not.
  package func check(_ partition: KafkaTopicPartition, timeoutMilliseconds: Int32) throws(KafkaError) {
    var count = counts[partition.topic] ?? 0
    if partition.partition >= count {
      count = try partitionCount(topic: partition.topic, timeoutMilliseconds: timeoutMilliseconds)
    }
    guard (0..<count).contains(partition.partition) else {
      throw KafkaError(.unknownPartition, "the topic has \(count) partitions", partition: partition)
    }
  }

  /// The number of partitions of a topic.
  package func partitionCount(topic: String, timeoutMilliseconds: Int32) throws(KafkaError) -> Int32 {
    try partitionCounts(of: [topic], timeoutMilliseconds: timeoutMilliseconds)[topic] ?? 0
  }

  /// The same of several topics. Whoever asks ahead finds the connection and the leaders there when he looks.
  @discardableResult
  package func partitionCounts(
    of topics: [String], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: Int32] {
    for topic in topics { counts[topic] = nil }
    let found = try consumer.partitionCounts(of: topics, timeoutMilliseconds: timeoutMilliseconds)
    counts.merge(found) { $1 }
    return found
  }

  /// Of each of these positions, which are of different partitions, the first record there or behind it (transaction
  /// markers and compaction leave holes: look at its offset); those whose log ends first are left out. Throws
  /// `offsetOutOfRange` when a log does not have the offset, `timedOut`.
  ///
  /// - Parameter keep: what is kept of a record. Records of many partitions, each as long as a record may be, are much.
  package func records<Kept>(
    at positions: [KafkaTopicPartitionOffset], timeoutMilliseconds: Int32,
    keep: (KafkaTopicPartition, borrowing KafkaRecordView) -> Kept
  ) throws(KafkaError) -> [KafkaTopicPartition: Kept] {
    guard !positions.isEmpty else { return [:] }
    try consumer.assign(positions)
    let result = Result { () throws(KafkaError) in
      try readFirst(of: Set(positions.map(\.partition)), timeoutMilliseconds: timeoutMilliseconds, keep: keep)
    }
    try consumer.unassign()
    // What was read beyond what was wanted would stay in memory until the next question.
    _ = try consumer.poll(timeoutMilliseconds: 0, recordsMaximum: .max) { _ in }
    return try result.get()
  }

  private func readFirst<Kept>(
    of wanted: Set<KafkaTopicPartition>, timeoutMilliseconds: Int32,
    keep: (KafkaTopicPartition, borrowing KafkaRecordView) -> Kept
  ) throws(KafkaError) -> [KafkaTopicPartition: Kept] {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    var found: [KafkaTopicPartition: Kept] = [:]
    var missing = wanted
    var isFirstPoll = true
    while let next = missing.first {
      guard isFirstPoll || !deadline.isOver else {
        throw KafkaError(.timedOut, "no answer in time", isRetriable: true, partition: next)
      }
      isFirstPoll = false
      let events = try consumer.poll(
        timeoutMilliseconds: deadline.remainingMilliseconds, recordsMaximum: 1
      ) { [topics = consumer.topics] record in
        let partition = KafkaTopicPartition(topic: topics[record.topicIndex], partition: record.partition)
        if missing.remove(partition) != nil { found[partition] = keep(partition, record) }
      }
      for event in events {
        switch event {
        case .endReached(let index, let partition, _):
          missing.remove(KafkaTopicPartition(topic: consumer.topics[index], partition: partition))
        case .error(let error):
          if error.isFatal || error.partition.map(missing.contains) ?? false || error.isOfUnknownPartition {
            throw error
          }
        }
      }
    }
    return found
  }

  /// The end of a log as the last records that were read of it told; nil where none were.
  package func lastKnownEnd(of partition: KafkaTopicPartition) -> Int64? { consumer.lastKnownEnd(of: partition) }

  /// Ends the client without waiting for that, where the process ends.
  package func abandon() { consumer.abandon() }

  /// Ends the client within about the given time.
  package func close(timeoutMilliseconds: Int32) { consumer.close(timeoutMilliseconds: timeoutMilliseconds) }
}

extension KafkaError {
  fileprivate var isOfUnknownPartition: Bool { kind == .unknownTopic || kind == .unknownPartition }
}
