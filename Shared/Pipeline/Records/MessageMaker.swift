package import AdCore
package import AdEvents
internal import JSON

/// Makes the messages of one kind that a service publishes: CloudEvents in binary mode, with the headers that never
/// change made once.
package struct MessageMaker: Sendable {
  private let topic: String
  private let constant: [RecordHeader]
  private let protobufType = RecordHeader("content-type", Array("application/protobuf".utf8))
  private let jsonType = RecordHeader("content-type", Array("application/json".utf8))
  private let idName = Array("ce_id".utf8)
  private let timeName = Array("ce_time".utf8)

  /// - Parameter source: which service, such as `/impression-tracking`.
  package init(topic: String, type: EventType, source: String) {
    self.topic = topic
    constant = [
      RecordHeader("ce_specversion", Array("1.0".utf8)),
      RecordHeader("ce_type", type.name.withUTF8Buffer { Array($0) }),
      RecordHeader("ce_source", Array(source.utf8)),
    ]
  }

  /// - Parameters:
  ///   - id: unique within the source; sent again it stays the same.
  ///   - time: when it happened.
  ///   - key: UTF-8 text, which readers of CloudEvents take as the attribute `partitionkey`; nil where nothing is told
  ///     by one. `partition` alone says where the message goes.
  ///   - isJSON: the value is to be in protobuf's JSON mapping, for whoever asked in it.
  package func message(
    _ content: some EventMessage, id: String, time: Timestamp, partition: Int32, key: [UInt8]?, isJSON: Bool = false
  ) -> OutgoingMessage {
    let json = isJSON ? try? content.json().get().compactText : nil
    var headers: [RecordHeader] = []
    headers.reserveCapacity(constant.count + 3)
    headers.append(json == nil ? protobufType : jsonType)
    headers.append(contentsOf: constant)
    headers.append(RecordHeader(name: idName, value: Array(id.utf8)))
    headers.append(RecordHeader(name: timeName, value: time.rfc3339))
    return OutgoingMessage(
      topic: topic, partition: partition, key: key, value: json.map { Array($0.utf8) } ?? content.encoded(),
      headers: headers)
  }
}
