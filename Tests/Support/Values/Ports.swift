package import AdCore
package import Pipeline
import Synchronization

/// A clock that stands until a test sets it.
package final class MovingClock: TimeSource {
  private let time: Mutex<Timestamp>

  package init(_ time: Timestamp) { self.time = Mutex(time) }

  package var now: Timestamp { time.withLock { $0 } }
  package var monotonicMilliseconds: Int64 { now.milliseconds }
  package func set(_ time: Timestamp) { self.time.withLock { $0 = time } }
  package func advance(byMilliseconds milliseconds: Int64) {
    time.withLock { $0 = $0.advanced(byMilliseconds: milliseconds) }
  }
}

/// A writer that keeps what is published. That it was delivered is told only where a test asks for the receipts.
package final class Publications: TopicWriter, Sendable {
  private struct Published {
    let message: OutgoingMessage
    let isNumbered: Bool
  }

  private let receipts = Mutex<[Receipt]>([])

  private let published = Mutex<[Published]>([])

  package init() {}

  package func send(_ message: OutgoingMessage, receipt: Receipt?) throws(PipelineError) {
    published.withLock { $0.append(Published(message: message, isNumbered: receipt != nil)) }
    if let receipt { receipts.withLock { $0.append(receipt) } }
  }

  /// All that was published, in order.
  package var messages: [OutgoingMessage] { published.withLock { $0.map(\.message) } }

  /// The same without what nobody has to hear of the delivery of.
  package var numbered: [OutgoingMessage] { published.withLock { $0.filter(\.isNumbered).map(\.message) } }

  /// Takes out the receipts of what was published since they were last taken.
  package func takeReceipts() -> [Receipt] {
    receipts.withLock { receipts in
      defer { receipts = [] }
      return receipts
    }
  }

  /// Takes out what was published on topics that begin with `prefix`: all of them, if none is named.
  @discardableResult
  package func take(_ prefix: String = "") -> [OutgoingMessage] {
    published.withLock { published in
      let taken = published.filter { $0.message.topic.hasPrefix(prefix) }.map(\.message)
      published.removeAll { $0.message.topic.hasPrefix(prefix) }
      return taken
    }
  }
}
