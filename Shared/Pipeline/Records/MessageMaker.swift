package import AdCore
package import AdEvents
internal import JSON

/// Makes the messages of one kind that a service publishes.
package struct MessageMaker: Sendable {
  private let topic: String
  private let envelope: CloudEventHeaders

  /// - Parameter source: which service, such as `/impression-tracking`.
  package init(topic: String, type: EventType, source: String) {
    self.topic = topic
    envelope = CloudEventHeaders(type: type, source: source)
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
    let contentType = json == nil ? CloudEventHeaders.protobufType : CloudEventHeaders.jsonType
    return OutgoingMessage(
      topic: topic, partition: partition, key: key, value: json.map { Array($0.utf8) } ?? content.encoded(),
      headers: envelope.headers(id: id, time: time, contentType: contentType))
  }
}
