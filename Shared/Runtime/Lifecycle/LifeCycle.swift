internal import Dispatch
internal import Glibc
internal import Synchronization
package import Threads

/// What was started, and how it is stopped: in reverse order.
package final class LifeCycle: Sendable {
  private struct Part {
    let name: String
    let stop: @Sendable () -> Void
  }

  private struct State {
    var parts: [Part] = []
    var exitCode: ExitCode?
  }

  private let state = Mutex(State())
  /// Made when the service is to stop: what waits meanwhile ends with it.
  package let stopRequest = StopRequest()
  private let logger: Logger

  package init(logger: Logger) { self.logger = logger }

  /// Call when something has been started. `stop` may block; it runs on a thread of its own.
  package func onStop(_ name: String, _ stop: @escaping @Sendable () -> Void) {
    state.withLock { $0.parts.append(Part(name: name, stop: stop)) }
  }

  /// Runs `body`, which works in rounds, on a thread of its own. Between two rounds, or parts of one, it calls what it is
  /// given, with how long to rest in milliseconds; false says that the service stops, and that `body` is to return. All are told
  /// at once: none of them waits for another's end.
  package func startRounds(
    _ name: String, _ body: @escaping @Sendable (_ rest: @escaping @Sendable (Int64) -> Bool) -> Void
  ) {
    let stop = stopRequest
    let thread = OwnerThread(name) { body { !stop.wait(milliseconds: $0) } }
    onStop(name) { thread.join() }
  }

  /// Asks for an ordered stop, from any thread. The first reason decides how the process exits.
  package func requestStop(_ reason: String, exitCode: ExitCode = .success) {
    let isFirst = state.withLock { state in
      defer { state.exitCode = state.exitCode ?? exitCode }
      return state.exitCode == nil
    }
    guard isFirst else { return }
    logger.notice("stopping", ["reason": .text(reason)])
    stopRequest.make()
  }

  /// Whether a stop was asked for.
  package var isStopRequested: Bool { state.withLock { $0.exitCode != nil } }

  /// Blocks until a stop is asked for.
  ///
  /// - Returns: how the process shall exit.
  package func waitForRequest() -> ExitCode {
    stopRequest.wait()
    return state.withLock { $0.exitCode ?? .success }
  }

  /// Stops all parts, the last one started first.
  ///
  /// - Returns: false when that took longer than the limit; what was left is named in the log.
  package func stopAll(timeoutMilliseconds: Int) -> Bool {
    stopRequest.make()
    let parts = state.withLock { state in
      defer { state.parts = [] }
      return Array(state.parts.reversed())
    }
    let stopped = Counter()
    let logger = logger
    let thread = OwnerThread("stop") {
      for part in parts {
        part.stop()
        stopped.add()
        logger.debug("stopped", ["part": .text(part.name)])
      }
    }
    guard thread.join(timeoutMilliseconds: timeoutMilliseconds) else {
      let name = parts[min(Int(stopped.value), parts.count - 1)].name
      logger.error("the time for stopping is over", ["part": .text(name), "limit_ms": LogValue(timeoutMilliseconds)])
      return false
    }
    return true
  }
}

/// SIGTERM and SIGINT ask for an ordered stop; a second one ends the process at once. SIGPIPE is ignored.
package final class ShutdownSignals {
  private let sources: [any DispatchSourceSignal]

  /// - Parameters:
  ///   - onFirst: called with the signal's number.
  ///   - onSecond: called for each one after that.
  package init(onFirst: @escaping @Sendable (Int32) -> Void, onSecond: @escaping @Sendable (Int32) -> Void) {
    let queue = DispatchQueue(label: "handbill.signals")
    let seen = Counter()
    signal(SIGPIPE, SIG_IGN)
    sources = [SIGTERM, SIGINT].map { number in
      // The dispatch source sees the signal only when its default action, the end, is switched off.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { @Sendable in
        seen.add()
        // All handlers run on one serial queue.
        if seen.value == 1 { onFirst(number) } else { onSecond(number) }
      }
      source.resume()
      return source
    }
  }

  /// Stops listening; the signals stay without effect.
  package func cancel() {
    for source in sources { source.cancel() }
  }
}
