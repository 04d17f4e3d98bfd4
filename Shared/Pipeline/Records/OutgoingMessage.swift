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
}

/// A message of an output with sequences.
package struct NumberedMessage: Hashable, Sendable {
  /// An index into ``PipelineService/outputs``.
  package var output: Int
  package var sequence: Int64
  package var message: OutgoingMessage

  package init(output: Int, sequence: Int64, message: OutgoingMessage) {
    self.output = output
    self.sequence = sequence
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
