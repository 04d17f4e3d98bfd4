package import AdCore
internal import Synchronization

/// A sign of life of one loop. The loop calls ``beat()`` each time round.
package final class Heartbeat: Sendable {
  package let name: String
  package let ageMaximumMilliseconds: Int64
  private let last: Atomic<Int64>
  private let clock: any TimeSource

  fileprivate init(name: String, ageMaximumMilliseconds: Int64, clock: any TimeSource) {
    self.name = name
    self.ageMaximumMilliseconds = ageMaximumMilliseconds
    self.clock = clock
    last = Atomic(clock.monotonicMilliseconds)
  }

  package func beat() { last.store(clock.monotonicMilliseconds, ordering: .relaxed) }

  fileprivate var ageMilliseconds: Int64 { clock.monotonicMilliseconds - last.load(ordering: .relaxed) }
}

/// One condition for being sent work, such as an assignment or a database of the right version.
package final class Readiness: Sendable {
  package let name: String
  private let reason: Mutex<String?>

  fileprivate init(name: String, reason: String) {
    self.name = name
    self.reason = Mutex(reason)
  }

  package func setReady() { reason.withLock { $0 = nil } }
  package func setNotReady(_ reason: String) { self.reason.withLock { $0 = reason } }

  /// Why not; nil when ready.
  package var problem: String? { reason.withLock { $0 } }
}

/// Whether a process is to be restarted (liveness) and whether it is to be sent work (readiness).
///
/// Liveness looks only at this process: a database that is down is no reason to restart its clients.
package final class Health: Sendable {
  /// One line of a report.
  package struct Line: Sendable, Equatable {
    package let name: String
    /// Nil when all is well.
    package let problem: String?
  }

  private struct Parts {
    var heartbeats: [Heartbeat] = []
    var conditions: [Readiness] = []
    var isStopping = false
  }

  private let parts = Mutex(Parts())
  private let clock: any TimeSource

  package init(clock: any TimeSource = SystemClock()) { self.clock = clock }

  /// A loop that must come round at least this often.
  package func heartbeat(_ name: String, ageMaximumMilliseconds: Int64 = 30_000) -> Heartbeat {
    let heartbeat = Heartbeat(name: name, ageMaximumMilliseconds: ageMaximumMilliseconds, clock: clock)
    parts.withLock { $0.heartbeats.append(heartbeat) }
    return heartbeat
  }

  /// A condition that is not met yet, for `reason`.
  package func readiness(_ name: String, until reason: String = "starting") -> Readiness {
    let condition = Readiness(name: name, reason: reason)
    parts.withLock { $0.conditions.append(condition) }
    return condition
  }

  /// From now on the process wants no more work.
  package func beginStopping() { parts.withLock { $0.isStopping = true } }

  package func liveness() -> [Line] {
    let heartbeats = parts.withLock { $0.heartbeats }
    return heartbeats.map { heartbeat in
      let age = heartbeat.ageMilliseconds
      let isLate = age > heartbeat.ageMaximumMilliseconds
      return Line(name: heartbeat.name, problem: isLate ? "no sign of life for \(age) ms" : nil)
    }
  }

  package func readiness() -> [Line] {
    let (conditions, isStopping) = parts.withLock { ($0.conditions, $0.isStopping) }
    return [Line(name: "running", problem: isStopping ? "stopping" : nil)]
      + conditions.map { Line(name: $0.name, problem: $0.problem) }
  }
}
