internal import CLibrdkafka
package import Records

/// One partition of one topic.
package struct KafkaTopicPartition: Hashable, Sendable, CustomStringConvertible {
  package let topic: String
  /// From 0.
  package let partition: Int32

  package init(topic: String, partition: Int32) {
    self.topic = topic
    self.partition = partition
  }

  package var description: String { "\(topic)[\(partition)]" }
}

/// A position in a partition's log.
package struct KafkaTopicPartitionOffset: Hashable, Sendable {
  /// As an offset: the log's first record, wherever retention has moved it.
  package static let beginning = Int64(RD_KAFKA_OFFSET_BEGINNING)
  /// As an offset: behind the log's last record at the moment of the assignment.
  package static let end = Int64(RD_KAFKA_OFFSET_END)

  package let partition: KafkaTopicPartition
  /// The next offset to read, or `beginning`, or `end`.
  package let offset: Int64

  package init(topic: String, partition: Int32, offset: Int64) {
    self.partition = KafkaTopicPartition(topic: topic, partition: partition)
    self.offset = offset
  }

  package init(_ partition: KafkaTopicPartition, offset: Int64) {
    self.partition = partition
    self.offset = offset
  }
}

/// Whose clock a record's time stamp is.
package enum KafkaTimestampType: Sendable {
  /// The producer's.
  case createTime
  /// The broker's, at the moment it appended the record.
  case logAppendTime
  /// The record carries none.
  case notAvailable
}

/// A record that lies in a consumer's memory, valid only inside the call that hands it over (hence not copyable).
///
/// A null payload (a tombstone) is normal input: `value` is nil then, and an empty buffer for an empty payload.
@safe package struct KafkaRecordView: ~Copyable {
  /// The topic, as an index into the consumer's `topics`: no string is made per record.
  package let topicIndex: Int
  package let partition: Int32
  package let offset: Int64
  /// Milliseconds since 1970; -1 when `timestampType` is `notAvailable`.
  package let timestampMilliseconds: Int64
  package let timestampType: KafkaTimestampType
  package let key: UnsafeRawBufferPointer?
  package let value: UnsafeRawBufferPointer?
  private let message: UnsafePointer<rd_kafka_message_t>

  init(_ message: UnsafePointer<rd_kafka_message_t>, topicIndex: Int) {
    unsafe self.message = unsafe message
    self.topicIndex = topicIndex
    partition = unsafe message.pointee.partition
    offset = unsafe message.pointee.offset
    unsafe key = unsafe KafkaRecordView.bytes(message.pointee.key, message.pointee.key_len)
    unsafe value = unsafe KafkaRecordView.bytes(message.pointee.payload, message.pointee.len)
    var type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
    timestampMilliseconds = unsafe rd_kafka_message_timestamp(message, &type)
    timestampType =
      switch type {
      case RD_KAFKA_TIMESTAMP_CREATE_TIME: .createTime
      case RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME: .logAppendTime
      default: .notAvailable
      }
  }

  /// Hands over each header in its order; names may repeat. At most `headersMaximum`, whatever a peer sends.
  package func forEachHeader(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) -> Void) {
    var headers: OpaquePointer?
    guard unsafe rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR, let headers = unsafe headers
    else { return }
    for index in 0..<KafkaRecordView.headersMaximum {
      var name: UnsafePointer<CChar>?
      var value: UnsafeRawPointer?
      var size = 0
      guard unsafe rd_kafka_header_get_all(headers, index, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR,
        let name = unsafe name
      else { return }
      unsafe body(
        UnsafeRawBufferPointer(start: name, count: KafkaRecordView.length(name)),
        value.map { unsafe UnsafeRawBufferPointer(start: $0, count: size) })
    }
  }

  /// Of key, value and the headers that are handed over, each of which somebody may have made as long as all.
  var byteCount: Int {
    var count = unsafe (key?.count ?? 0) + (value?.count ?? 0)
    unsafe forEachHeader { name, value in unsafe count += name.count + (value?.count ?? 0) }
    return count
  }

  /// Later headers of one record are not handed over.
  package static let headersMaximum = 64

  /// A copy that may be kept.
  package func copy(topic: String) -> KafkaRecord {
    var headers: [RecordHeader] = []
    unsafe forEachHeader { name, value in
      unsafe headers.append(RecordHeader(name: Array(name), value: value.map { unsafe Array($0) }))
    }
    return unsafe KafkaRecord(
      topic: topic, partition: partition, offset: offset, timestampMilliseconds: timestampMilliseconds,
      timestampType: timestampType, key: key.map { unsafe Array($0) }, value: unsafe value.map { unsafe Array($0) },
      headers: headers)
  }

  private static func bytes(_ start: UnsafeMutableRawPointer?, _ count: Int) -> UnsafeRawBufferPointer? {
    unsafe start.map { unsafe UnsafeRawBufferPointer(start: $0, count: count) }
  }

  static func length(_ text: UnsafePointer<CChar>) -> Int {
    var count = 0
    while unsafe text[count] != 0 { count += 1 }
    return count
  }
}

/// A record with its own memory.
package struct KafkaRecord: Equatable, Sendable {
  package let topic: String
  package let partition: Int32
  package let offset: Int64
  /// Milliseconds since 1970; -1 when `timestampType` is `notAvailable`.
  package let timestampMilliseconds: Int64
  package let timestampType: KafkaTimestampType
  package let key: [UInt8]?
  /// Nil is a tombstone.
  package let value: [UInt8]?
  package let headers: [RecordHeader]
}
