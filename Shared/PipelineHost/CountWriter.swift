internal import Pipeline
internal import Postgres
internal import Runtime
internal import Threads

/// Writes what a process's partitions have counted, on a thread and a connection of its own: no batch waits for it.
///
/// What fails is tried again until it is written or refused; what the same partition counted later waits behind it.
final class CountWriter<Tables: ServiceTables>: Sendable {
  typealias Flush = CountStore<Tables>.Flush

  private enum Item: Sendable {
    case flush(Flush)
    /// Everything is tried once more, and the thread ends.
    case end
  }

  private let mailbox = Mailbox<Item>()
  private let logger: Logger

  init(logger: Logger) { self.logger = logger }

  func put(_ flush: Flush) { mailbox.put(.flush(flush)) }

  /// Ends ``run(_:heartbeat:report:)``.
  func end() { mailbox.put(.end) }

  /// Works until told to end.
  ///
  /// - Parameters:
  ///   - makeStore: made here, for this thread.
  ///   - report: told of the end of each flush.
  func run(_ makeStore: () -> CountStore<Tables>, heartbeat: () -> Void, report: (CountReport) -> Void) {
    let store = makeStore()
    defer { store.close() }
    var pending: [Flush] = []
    var retry = Retry()
    var random = SystemRandomNumberGenerator()
    var pause: Int64 = 1_000
    var isEnding = false
    while !isEnding {
      heartbeat()
      for item in mailbox.takeAll(timeoutMilliseconds: Int(pause)) {
        switch item {
        case .flush(let flush): pending.append(flush)
        case .end: isEnding = true
        }
      }
      pending = write(pending, to: store, heartbeat: heartbeat, report: report)
      if pending.isEmpty { retry.reset() }
      pause = pending.isEmpty ? 1_000 : retry.delayMilliseconds(now: 0, using: &random) ?? 1_000
    }
  }

  /// Writes what can be; returns what is left, in its order.
  private func write(
    _ flushes: [Flush], to store: CountStore<Tables>, heartbeat: () -> Void, report: (CountReport) -> Void
  ) -> [Flush] {
    var left: [Flush] = []
    var failed: Set<Int32> = []
    for flush in flushes {
      heartbeat()
      guard !failed.contains(flush.partition) else {
        left.append(flush)
        continue
      }
      do throws(PostgresError) {
        let isWritten = try store.write(flush)
        report(CountReport(partition: flush.partition, epoch: flush.epoch, upTo: flush.upTo, isRefused: !isWritten))
      } catch {
        failed.insert(flush.partition)
        left.append(flush)
        logger.limited(
          .error, key: "counts", "counts could not be written; it is tried again",
          ["partition": .init(Int(flush.partition)), "error": .init(error.description)])
      }
    }
    return left
  }
}
