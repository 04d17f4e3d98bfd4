/// A state behind a lock, with waiting for a change: what `Mutex` lacks. Time is the monotonic clock's, so that a
/// changed wall clock neither shortens nor stretches a wait.
///
/// Records pass through monitors one by one: what depends on the state's type is inlined where it is called, or every
/// access would look up at run time how to move the state.
///
/// `@unchecked Sendable` holds because `state` is only touched between lock and unlock.
package final class Monitor<State>: @unchecked Sendable {
  @usableFromInline
  var state: State
  @usableFromInline
  let lock = ConditionLock()

  package init(_ state: sending State) { self.state = state }

  deinit { lock.destroy() }

  /// Reads the state, or changes it in a way that nobody waits for.
  @inlinable
  package func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&state)
  }

  /// Changes the state and wakes everybody who waits.
  @inlinable
  @discardableResult
  package func update<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    lock.lock()
    defer {
      lock.signal()
      lock.unlock()
    }
    return try body(&state)
  }

  /// Waits until the state is so; false when the time ran out first.
  @inlinable
  package func wait(timeoutMilliseconds: Int, until isReady: (State) -> Bool) -> Bool {
    waitForResult(timeoutMilliseconds: timeoutMilliseconds) { isReady($0) ? true : nil } ?? false
  }

  /// Waits under the lock until `body` gives a result; it is tried at once and after each change.
  ///
  /// - Parameter timeoutMilliseconds: at most a day; 0 only looks, and nil waits for as long as it takes.
  /// - Returns: nil when the time ran out first.
  @inlinable
  package func waitForResult<Result, Failure: Error>(
    timeoutMilliseconds: Int?, _ body: (inout State) throws(Failure) -> sending Result?
  ) throws(Failure) -> sending Result? {
    lock.lock()
    defer { lock.unlock() }
    if let result = try body(&state) { return result }
    // A wait that is over before it begins would give up the processor all the same.
    if let timeoutMilliseconds, timeoutMilliseconds <= 0 { return nil }
    let deadline = timeoutMilliseconds.map { MonotonicDeadline(afterMilliseconds: $0) }
    while true {
      let isOver = !lock.wait(until: deadline)
      if let result = try body(&state) { return result }
      if isOver { return nil }
    }
  }
}
