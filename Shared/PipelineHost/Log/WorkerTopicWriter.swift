package import AdCore
package import Crypto
package import Pipeline
internal import Runtime

/// One worker's face of the service's writer. It sends to the producer that the worker's partitions know of, and to no
/// other: what a newer one took before they were told would go out ahead of what the older one lost. What goes to other
/// services gets its MAC here.
///
/// Used by one thread.
package final class WorkerTopicWriter: TopicWriter {
  private let writer: KafkaTopicWriter
  private let mac: MessageMAC
  private let clock = SystemClock()
  private var generation: UInt64?

  /// - Throws: `CryptoError` where libcrypto has no HMAC-SHA-256: fatal.
  package init(_ writer: KafkaTopicWriter, ring: KeyRing) throws(CryptoError) {
    self.writer = writer
    mac = try MessageMAC(ring: ring)
    _ = adopt()
  }

  /// Takes to the producer that there is now; false when it is the known one, or there is none.
  package func adopt() -> Bool {
    guard let current = writer.currentGeneration, current != generation else { return false }
    generation = current
    return true
  }

  package func send(_ message: OutgoingMessage, receipt: Receipt?) throws(PipelineError) {
    try writer.send(message.authenticated(by: mac, now: clock.now), receipt: receipt, generation: generation)
  }
}
