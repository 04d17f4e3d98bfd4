package import AdCore
internal import AdEvents
package import Records

/// A message on its way into a topic.
package struct OutgoingMessage: Hashable, Sendable {
  package var topic: String
  package var partition: Int32
  package var key: [UInt8]?
  package var value: [UInt8]?
  package var headers: [RecordHeader]

  package init(topic: String, partition: Int32, key: [UInt8]?, value: [UInt8]?, headers: [RecordHeader]) {
    self.topic = topic
    self.partition = partition
    self.key = key
    self.value = value
    self.headers = headers
  }

  /// The same with its MAC, where it goes to a topic whose readers ask for one. The one place where MACs are made: a writer
  /// calls it with each message that it sends.
  package func authenticated(by mac: MessageMAC, now: Timestamp) -> OutgoingMessage {
    guard Topic.isAuthenticated(name: topic) else { return self }
    var message = self
    let made = withOptionalBytes(key) { key in
      withOptionalBytes(value) { value in
        withOptionalBytes(timelineMark) { mark in
          mac.make(topic: topic, partition: partition, key: key, value: value, mark: mark, now: now)
        }
      }
    }
    message.headers.append(RecordHeader("\(MessageMAC.headerName)", made))
    return message
  }
}

extension OutgoingMessage {
  /// What its header ``TimelineMark`` says; nil without one.
  private var timelineMark: [UInt8]? {
    let name = "\(TimelineMark.headerName)"
    return headers.first { $0.name.elementsEqual(name.utf8) }?.value
  }

  /// The same, saying how far its writer's database has come.
  func marked(_ mark: TimelineMark) -> OutgoingMessage {
    var message = self
    message.headers.append(RecordHeader("\(TimelineMark.headerName)", Array(mark.text.utf8)))
    return message
  }
}

/// A message of an output with sequences: one event, or a run of them.
package struct NumberedMessage: Hashable, Sendable {
  /// An index into ``PipelineService/outputs``.
  package var output: Int
  /// Of its first event.
  package var firstSequence: Int64
  /// Of its last event.
  package var sequence: Int64
  package var message: OutgoingMessage

  /// A message of one event.
  package init(output: Int, sequence: Int64, message: OutgoingMessage) {
    self.init(output: output, sequences: sequence...sequence, message: message)
  }

  package init(output: Int, sequences: ClosedRange<Int64>, message: OutgoingMessage) {
    self.output = output
    firstSequence = sequences.lowerBound
    sequence = sequences.upperBound
    self.message = message
  }
}

/// A rare output (forwarded, rejected), kept in the database until it was delivered; twice does no harm there.
package struct OutboxEntry: Hashable, Sendable {
  /// Unique within the partition, rising.
  package var id: Int64
  package var message: OutgoingMessage

  package init(id: Int64, message: OutgoingMessage) {
    self.id = id
    self.message = message
  }
}
