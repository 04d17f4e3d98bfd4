package import AdBasics
package import Records

/// The headers of what one source publishes of one type: CloudEvents' Kafka binding in binary mode. Those that never
/// change are made once.
package struct CloudEventHeaders: Sendable {
  private let constant: [RecordHeader]
  private let idName = Array("ce_id".utf8)
  private let timeName = Array("ce_time".utf8)

  package static let protobufType = RecordHeader("content-type", "application/protobuf")
  package static let jsonType = RecordHeader("content-type", "application/json")

  /// - Parameter source: which service, such as `/impression-tracking`.
  package init(type: EventType, source: String) {
    constant = [
      RecordHeader("ce_specversion", "1.0"), RecordHeader("ce_type", "\(type.name)"), RecordHeader("ce_source", source),
    ]
  }

  /// - Parameters:
  ///   - id: unique within the source; a redelivery has the same.
  ///   - time: when it happened.
  ///   - contentType: the header that says how the value is written.
  package func headers(
    id: String, time: Timestamp, contentType: RecordHeader = CloudEventHeaders.protobufType
  ) -> [RecordHeader] {
    var headers: [RecordHeader] = []
    headers.reserveCapacity(constant.count + 3)
    headers.append(contentType)
    headers.append(contentsOf: constant)
    headers.append(RecordHeader(name: idName, value: Array(id.utf8)))
    headers.append(RecordHeader(name: timeName, value: time.rfc3339))
    return headers
  }

  /// The headers of a request that say where its answer goes (Spring's names, which AsyncAPI tools know).
  package static func reply(topic: String, partition: Int32, correlationID: [UInt8]) -> [RecordHeader] {
    [
      RecordHeader("kafka_replyTopic", topic),
      RecordHeader("kafka_replyPartition", withUnsafeBytes(of: partition.bigEndian) { Array($0) }),
      RecordHeader("kafka_correlationId", correlationID),
    ]
  }
}
