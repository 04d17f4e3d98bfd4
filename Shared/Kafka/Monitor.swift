import Foundation

/// A state behind a lock, with waiting for a change: what `Mutex` lacks. Time is the monotonic clock's, so that a
/// changed wall clock neither shortens nor stretches a wait.
///
/// `@unchecked Sendable` holds because `state` is only touched between lock and unlock of `mutex`.
final class Monitor<State>: @unchecked Sendable {
  private var state: State
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init(_ state: sending State) {
    self.state = state
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state)
  }

  /// Changes the state and wakes everybody who waits.
  func update(_ body: (inout State) -> Void) {
    pthread_mutex_lock(mutex)
    body(&state)
    pthread_cond_broadcast(condition)
    pthread_mutex_unlock(mutex)
  }

  /// Waits until the state is so; false when the time ran out first.
  func wait(timeoutMilliseconds: Int, until isReady: (State) -> Bool) -> Bool {
    wait(timeoutMilliseconds: timeoutMilliseconds, until: isReady, then: { _ in true }) ?? false
  }

  /// Waits under the lock until `isReady`, then runs `body` still under it; nil when the time ran out first.
  func wait<Result, Failure: Error>(
    timeoutMilliseconds: Int, until isReady: (State) -> Bool,
    then body: (inout State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    if !isReady(state) {
      var deadline = Monotonic.time(afterMilliseconds: timeoutMilliseconds)
      while !isReady(state) {
        if pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT, !isReady(state) { return nil }
      }
    }
    return try body(&state)
  }
}

/// The clock that no one sets.
enum Monotonic {
  /// Milliseconds since some fixed moment.
  static var milliseconds: Int {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1000 + now.tv_nsec / 1_000_000
  }

  static func time(afterMilliseconds milliseconds: Int) -> timespec {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    let bounded = min(max(milliseconds, 0), 86_400_000)
    let nanoseconds = now.tv_nsec + (bounded % 1000) * 1_000_000
    return timespec(
      tv_sec: now.tv_sec + bounded / 1000 + nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
  }
}

/// A moment by which something blocking has to be done.
struct Deadline {
  private let end: Int

  init(afterMilliseconds milliseconds: Int32) { end = Monotonic.milliseconds + Int(max(milliseconds, 0)) }

  /// From 0.
  var remainingMilliseconds: Int32 { Int32(clamping: max(end - Monotonic.milliseconds, 0)) }
  var isOver: Bool { remainingMilliseconds == 0 }
}
