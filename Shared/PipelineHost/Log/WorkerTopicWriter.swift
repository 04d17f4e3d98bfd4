package import Pipeline

/// One worker's face of the service's writer. It sends to the producer that the worker's partitions know of, and to no
/// other: what a newer one took before they were told would go out ahead of what the older one lost.
///
/// Used by one thread.
package final class WorkerTopicWriter: TopicWriter {
  private let writer: KafkaTopicWriter
  private var generation: UInt64?

  package init(_ writer: KafkaTopicWriter) {
    self.writer = writer
    _ = adopt()
  }

  /// Takes to the producer that there is now; false when it is the known one, or there is none.
  package func adopt() -> Bool {
    guard let current = writer.currentGeneration, current != generation else { return false }
    generation = current
    return true
  }

  package func send(_ message: OutgoingMessage, receipt: Receipt?) throws(PipelineError) {
    try writer.send(message, receipt: receipt, generation: generation)
  }
}
