package import AdCore

/// The headers of what we publish: CloudEvents' Kafka binding in binary mode.
package enum CloudEventHeaders {
  /// - Parameters:
  ///   - source: which service, such as `/impression-tracking`.
  ///   - id: unique within the source; a redelivery has the same.
  ///   - time: when it happened.
  package static func make(
    type: EventType, source: String, id: String, time: Timestamp, contentType: String = "application/protobuf"
  ) -> [(name: String, value: [UInt8])] {
    [
      ("content-type", Array(contentType.utf8)),
      ("ce_specversion", Array("1.0".utf8)),
      ("ce_type", type.name.withUTF8Buffer { Array($0) }),
      ("ce_source", Array(source.utf8)),
      ("ce_id", Array(id.utf8)),
      ("ce_time", time.rfc3339),
    ]
  }

  /// The headers of a request that say where its answer goes (Spring's names, which AsyncAPI tools know).
  package static func reply(
    topic: String, partition: Int32, correlationID: [UInt8]
  ) -> [(name: String, value: [UInt8])] {
    [
      ("kafka_replyTopic", Array(topic.utf8)),
      ("kafka_replyPartition", withUnsafeBytes(of: partition.bigEndian) { Array($0) }),
      ("kafka_correlationId", correlationID),
    ]
  }
}
