internal import Synchronization

/// A clock for an app's unit tests, which moves only ahead of the device's as far as the test says: what takes a second, half
/// a minute or a quarter of an hour (views, refreshes, expiry) happens at once. See ``AdClientOptions/testClock``.
public final class AdTestClock: Sendable {
  private struct Alarm {
    let at: MonotonicTime
    let ring: @Sendable () -> Void
  }

  private struct State {
    var aheadMilliseconds: Int64 = 0
    /// One for each object that waits.
    var alarms: [ObjectIdentifier: Alarm] = [:]
  }

  private let state = Mutex(State())

  public init() {}

  /// The device's monotonic clock, and what was added.
  public var now: MonotonicTime {
    DeviceClock.monotonic.advanced(byMilliseconds: state.withLock { $0.aheadMilliseconds })
  }

  /// Lets time pass: whatever becomes due by it happens, on the actors of its objects.
  public func advance(byMilliseconds milliseconds: Int64) {
    state.withLock { $0.aheadMilliseconds += max(0, milliseconds) }
    let now = now
    let due = state.withLock { state in
      let due = state.alarms.filter { $0.value.at <= now }.sorted { $0.value.at < $1.value.at }
      for alarm in due { state.alarms[alarm.key] = nil }
      return due
    }
    for alarm in due { alarm.value.ring() }
  }

  /// Rings once, when it is `due`; nil does not ring. One alarm for each owner: another replaces it.
  func setAlarm(of owner: ObjectIdentifier, at due: MonotonicTime?, _ ring: @escaping @Sendable () -> Void) {
    let isDue = due.map { $0 <= now } ?? false
    state.withLock { $0.alarms[owner] = isDue ? nil : due.map { Alarm(at: $0, ring: ring) } }
    if isDue { ring() }
  }
}
