package import Kafka
package import Pipeline

extension KafkaTopicProbe {
  /// The same as ``look(_:lastOffsets:timeoutMilliseconds:)`` in one round trip where each position rests on a record
  /// that is still there: that record's offset stands for where the log begins, and the end came with it.
  package func lookAtRecords(
    _ places: [KafkaTopicPartition], lastOffsets: [Int64?], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicProbe] {
    let known = zip(places, lastOffsets).compactMap { place, offset in
      offset.map { KafkaTopicPartitionOffset(place, offset: $0) }
    }
    if known.count == places.count {
      for place in places { try check(place, timeoutMilliseconds: timeoutMilliseconds) }
      let probes = try probes(at: known, timeoutMilliseconds: timeoutMilliseconds)
      if probes.count == places.count { return probes }
    }
    return try look(places, lastOffsets: lastOffsets, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Of the places whose log has a record at exactly this offset.
  private func probes(
    at places: [KafkaTopicPartitionOffset], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicProbe] {
    let found: [KafkaTopicPartition: KafkaRecord]
    do throws(KafkaError) { found = try records(at: places, timeoutMilliseconds: timeoutMilliseconds) } catch {
      guard error.kind == .offsetOutOfRange else { throw error }
      return []
    }
    return places.compactMap { place in
      guard let record = found[place.partition], record.offset == place.offset,
        let end = lastKnownEnd(of: place.partition), end > place.offset
      else { return nil }
      return TopicProbe(firstOffset: place.offset, endOffset: end, record: RecordIdentity(record))
    }
  }

  /// Looks into different logs: their bounds, and the records that stored positions rest on.
  ///
  /// - Parameter lastOffsets: for each place the offset of the last record decided.
  package func look(
    _ places: [KafkaTopicPartition], lastOffsets: [Int64?], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicProbe] {
    let bounds = try bounds(of: places, timeoutMilliseconds: timeoutMilliseconds)
    let kept = places.indices.compactMap { index -> KafkaTopicPartitionOffset? in
      guard let last = lastOffsets[index], last >= bounds[index].first, last < bounds[index].end else { return nil }
      return KafkaTopicPartitionOffset(places[index], offset: last)
    }
    let records = try records(at: kept, timeoutMilliseconds: timeoutMilliseconds)
    return places.indices.map { index in
      let record = records[places[index]].flatMap { $0.offset == lastOffsets[index] ? RecordIdentity($0) : nil }
      return TopicProbe(firstOffset: bounds[index].first, endOffset: bounds[index].end, record: record)
    }
  }
}

extension RecordIdentity {
  /// What proves later that the log is still the one that held this record.
  package init(_ record: KafkaRecord) {
    self.init(
      offset: record.offset, timestamp: record.timestampMilliseconds,
      contentHash: RecordContent.hash(key: record.key, value: record.value))
  }
}

/// The hash over key and value that identifies a record.
enum RecordContent {
  static func hash(key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?) -> UInt64 {
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    return contentHash(value ?? empty, seed: contentHash(key ?? empty, seed: value == nil ? 1 : 2))
  }

  static func hash(key: [UInt8]?, value: [UInt8]?) -> UInt64 {
    (key ?? []).withUnsafeBytes { keyBytes in
      (value ?? []).withUnsafeBytes { hash(key: key == nil ? nil : keyBytes, value: value == nil ? nil : $0) }
    }
  }
}
