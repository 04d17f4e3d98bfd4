internal import CLibrdkafka
internal import Synchronization
internal import Threads

/// Ends a consumer's blocked `poll` from any thread; without effect once the consumer is closed.
package final class KafkaWaker: Sendable {
  private let client: Monitor<ClientHandle?>
  private let isUsed = Atomic(false)

  init(_ client: ClientHandle) { self.client = Monitor(client) }

  package func wakeUp() {
    isUsed.store(true, ordering: .releasing)
    client.withLock { if let client = $0 { unsafe rd_kafka_queue_yield(client.queue) } }
  }

  /// Whether it was used since this was asked last.
  func takeUse() -> Bool { isUsed.exchange(false, ordering: .acquiringAndReleasing) }

  func disarm() { client.withLock { $0 = nil } }
}
