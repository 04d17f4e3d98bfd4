import Glibc

/// A state behind a lock, with waiting for a change: what `Mutex` lacks. Time is the monotonic clock's, so that a
/// changed wall clock neither shortens nor stretches a wait.
///
/// `@unchecked Sendable` holds because `state` is only touched between lock and unlock of `mutex`.
package final class Monitor<State>: @unchecked Sendable {
  private var state: State
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init(_ state: sending State) {
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

  /// Reads the state, or changes it in a way that nobody waits for.
  package func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state)
  }

  /// Changes the state and wakes everybody who waits.
  @discardableResult
  package func update<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer {
      pthread_cond_broadcast(condition)
      pthread_mutex_unlock(mutex)
    }
    return try body(&state)
  }

  /// Waits until the state is so; false when the time ran out first.
  package func wait(timeoutMilliseconds: Int, until isReady: (State) -> Bool) -> Bool {
    waitForResult(timeoutMilliseconds: timeoutMilliseconds) { isReady($0) ? true : nil } ?? false
  }

  /// Waits under the lock until `body` gives a result; it is tried at once and after each change.
  ///
  /// - Parameter timeoutMilliseconds: at most a day; nil waits for as long as it takes.
  /// - Returns: nil when the time ran out first.
  package func waitForResult<Result, Failure: Error>(
    timeoutMilliseconds: Int?, _ body: (inout State) throws(Failure) -> sending Result?
  ) throws(Failure) -> sending Result? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    if let result = try body(&state) { return result }
    guard let timeoutMilliseconds else {
      while true {
        pthread_cond_wait(condition, mutex)
        if let result = try body(&state) { return result }
      }
    }
    var deadline = MonotonicClock.time(afterMilliseconds: timeoutMilliseconds)
    while true {
      let isOver = pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT
      if let result = try body(&state) { return result }
      if isOver { return nil }
    }
  }
}
