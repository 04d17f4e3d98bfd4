internal import Kafka
internal import Pipeline
internal import Synchronization
internal import Threads

/// What others tell the reader, and what it tells the keeper of the leases.
struct ReaderBoxes: Sendable {
  let workerEvents: WorkerEvents
  let orders = Mailbox<LeaseOrder>()
  let holdings = PartitionHoldings()
  private let waker: KafkaWaker

  init(waker: KafkaWaker) {
    self.waker = waker
    workerEvents = WorkerEvents { waker.wakeUp() }
  }

  /// Wakes the reader where there is something to do.
  func put(_ order: LeaseOrder) {
    orders.put(order)
    if case .balanced = order { return }
    waker.wakeUp()
  }
}

/// What workers tell the reader, who sleeps in the consumer's `poll` meanwhile.
final class WorkerEvents: Sendable {
  private let mailbox = Mailbox<WorkerEvent>()
  private let wake: @Sendable () -> Void
  private let isReaderWaiting = Atomic(false)

  /// - Parameter wake: ends the reader's `poll`.
  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  /// Wakes the reader, but not for a finished batch while none waits for its end: waking costs more than telling.
  func tell(_ event: WorkerEvent) {
    mailbox.put(event)
    if case .finishedBatch = event, !isReaderWaiting.load(ordering: .sequentiallyConsistent) { return }
    wake()
  }

  /// Whether records wait until a worker is done with earlier ones. The reader says it before it takes its events for the
  /// last time and sleeps: what is told between the two is taken, and what is told later wakes.
  func readerWaits(_ isWaiting: Bool) { isReaderWaiting.store(isWaiting, ordering: .sequentiallyConsistent) }

  /// Everything that was told; waits for something, at most so long.
  func takeAll(timeoutMilliseconds: Int) -> [WorkerEvent] { mailbox.takeAll(timeoutMilliseconds: timeoutMilliseconds) }
}
