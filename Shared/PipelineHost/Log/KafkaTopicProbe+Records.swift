package import Kafka
package import Pipeline

extension KafkaTopicProbe {
  /// The same as ``probesByBounds(_:lastOffsets:timeoutMilliseconds:)`` in one round trip where positions rest on records
  /// that are still there: such a record's offset stands for where the log begins, and the end came with it.
  package func probes(
    _ partitions: [KafkaTopicPartition], lastOffsets: [Int64?], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicProbe] {
    for partition in partitions { try check(partition, timeoutMilliseconds: timeoutMilliseconds) }
    let known = zip(partitions, lastOffsets).compactMap { partition, offset in
      offset.map { KafkaTopicPartitionOffset(partition, offset: $0) }
    }
    var probes = try probes(at: known, timeoutMilliseconds: timeoutMilliseconds)
    let others = partitions.indices.filter { probes[partitions[$0]] == nil }
    if !others.isEmpty {
      let found = try probesByBounds(
        others.map { partitions[$0] }, lastOffsets: others.map { lastOffsets[$0] },
        timeoutMilliseconds: timeoutMilliseconds)
      for (index, probe) in zip(others, found) { probes[partitions[index]] = probe }
    }
    return partitions.compactMap { probes[$0] }
  }

  /// Of the positions whose log has a record at exactly this offset.
  private func probes(
    at positions: [KafkaTopicPartitionOffset], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [KafkaTopicPartition: TopicProbe] {
    let found: [KafkaTopicPartition: RecordIdentity]
    do throws(KafkaError) {
      found = try records(at: positions, timeoutMilliseconds: timeoutMilliseconds) { RecordIdentity($1) }
    } catch {
      guard error.kind == .offsetOutOfRange else { throw error }
      return [:]
    }
    var probes: [KafkaTopicPartition: TopicProbe] = [:]
    for position in positions {
      guard let record = found[position.partition], record.offset == position.offset,
        let end = lastKnownEnd(of: position.partition), end > position.offset
      else { continue }
      probes[position.partition] = TopicProbe(
        firstOffset: position.offset, endOffset: end, record: record)
    }
    return probes
  }

  /// Probes different logs: their bounds, and the records that stored positions rest on.
  ///
  /// - Parameter lastOffsets: for each partition the offset of the last record decided.
  package func probesByBounds(
    _ partitions: [KafkaTopicPartition], lastOffsets: [Int64?], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicProbe] {
    let bounds = try bounds(of: partitions, timeoutMilliseconds: timeoutMilliseconds)
    let kept = partitions.indices.compactMap { index -> KafkaTopicPartitionOffset? in
      guard let last = lastOffsets[index], last >= bounds[index].first, last < bounds[index].end else { return nil }
      return KafkaTopicPartitionOffset(partitions[index], offset: last)
    }
    let records = try records(at: kept, timeoutMilliseconds: timeoutMilliseconds) { RecordIdentity($1) }
    return partitions.indices.map { index in
      let record = records[partitions[index]].flatMap { $0.offset == lastOffsets[index] ? $0 : nil }
      return TopicProbe(firstOffset: bounds[index].first, endOffset: bounds[index].end, record: record)
    }
  }
}

extension RecordIdentity {
  /// What proves later that the log is still the one that held this record: a hash over its key and value, too.
  package init(_ record: borrowing KafkaRecordView) {
    self.init(
      offset: record.offset, timestamp: record.timestampMilliseconds,
      contentHash: Self.hash(key: record.key, value: record.value))
  }

  private static func hash(key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?) -> UInt64 {
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    return Pipeline.contentHash(value ?? empty, seed: Pipeline.contentHash(key ?? empty, seed: value == nil ? 1 : 2))
  }
}
