package import AdCore
package import AdEvents
internal import JSON
internal import Records

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
    return message(
      value: json.map { Array($0.utf8) } ?? content.encoded(), id: id, time: time, partition: partition, key: key,
      contentType: json == nil ? CloudEventHeaders.protobufType : CloudEventHeaders.jsonType)
  }

  /// The message of `watermark`, as the topic's own kind of record has it.
  package func message(_ content: some EventMessage, of watermark: Watermark, partition: Int32) -> OutgoingMessage {
    message(
      content, id: "\(partition)/watermark/\(watermark.time.milliseconds)/\(watermark.sequence)", time: watermark.time,
      partition: partition, key: nil)
  }

  fileprivate func message(
    value: [UInt8], id: String, time: Timestamp, partition: Int32, key: [UInt8]?,
    contentType: RecordHeader = CloudEventHeaders.protobufType
  ) -> OutgoingMessage {
    OutgoingMessage(
      topic: topic, partition: partition, key: key, value: value,
      headers: envelope.headers(id: id, time: time, contentType: contentType))
  }
}

/// Makes the messages of accepted events that a tracker publishes: runs, as long as their limits allow.
package struct RunMaker<Content: SequencedContent>: Sendable {
  private let maker: MessageMaker

  /// - Parameter source: which service, such as `/impression-tracking`.
  package init(topic: String, source: String) {
    maker = MessageMaker(topic: topic, type: Content.recordEventType, source: source)
  }

  /// The messages of a partition's events, which come in the order of their sequences. Each gap between those ends a run.
  package func messages(
    _ events: some Sequence<(sequence: Int64, content: Content)>, output: Int
  ) -> [NumberedMessage] {
    var messages: [NumberedMessage] = []
    var open: (run: RunEncoder, first: Int64, partition: Int32, time: Timestamp)?
    func close() {
      guard let open else { return }
      let last = open.first + Int64(open.run.count - 1)
      let message = maker.message(
        value: open.run.encoded(), id: "\(open.partition)/\(open.first)-\(last)", time: open.time,
        partition: open.partition, key: nil)
      messages.append(NumberedMessage(output: output, sequences: open.first...last, message: message))
    }
    for (sequence, content) in events {
      if let run = open, run.run.isFull || run.first + Int64(run.run.count) != sequence {
        close()
        open = nil
      }
      let event = content.runEvent
      if open == nil { open = (RunEncoder(first: sequence), sequence, event.terms.partition, event.eventTime) }
      open?.run.append(event)
      open?.time = event.eventTime
    }
    close()
    return messages
  }
}
