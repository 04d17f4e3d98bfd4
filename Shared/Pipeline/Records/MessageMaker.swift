import AdCore
import AdEvents

/// Makes the messages of one kind that a service publishes: CloudEvents in binary mode, with the headers that never
/// change made once.
package struct MessageMaker: Sendable {
  private let topic: String
  private let constant: [RecordHeader]
  private let idName = Array("ce_id".utf8)
  private let timeName = Array("ce_time".utf8)

  /// - Parameter source: which service, such as `/impression-tracking`.
  package init(topic: String, type: EventType, source: String) {
    self.topic = topic
    constant = [
      RecordHeader("content-type", Array("application/protobuf".utf8)),
      RecordHeader("ce_specversion", Array("1.0".utf8)),
      RecordHeader("ce_type", type.name.withUTF8Buffer { Array($0) }),
      RecordHeader("ce_source", Array(source.utf8)),
    ]
  }

  /// - Parameters:
  ///   - id: unique within the source; sent again it stays the same.
  ///   - time: when it happened.
  package func message(
    _ content: some EventMessage, id: String, time: Timestamp, partition: Int32, key: [UInt8]?
  ) -> OutgoingMessage {
    var headers: [RecordHeader] = []
    headers.reserveCapacity(constant.count + 2)
    headers.append(contentsOf: constant)
    headers.append(RecordHeader(name: idName, value: Array(id.utf8)))
    headers.append(RecordHeader(name: timeName, value: InternetTime.bytes(time)))
    return OutgoingMessage(
      topic: topic, partition: partition, key: key, value: content.encoded(), headers: headers)
  }
}

extension UUIDv7 {
  /// The 16 bytes, big-endian: the key of what belongs to a served ad.
  package var bytes: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      raw.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
      raw.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
      count = 16
    }
  }
}
