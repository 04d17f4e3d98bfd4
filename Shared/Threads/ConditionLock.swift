internal import Glibc

/// A lock with a condition under it: what is behind a ``Monitor``, whatever its state is.
@usableFromInline
@safe struct ConditionLock: @unchecked Sendable {
  // `@unchecked Sendable` holds because both are made to be used by many threads.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() {
    unsafe pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  func destroy() {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  @usableFromInline
  func lock() { unsafe pthread_mutex_lock(mutex) }

  @usableFromInline
  func unlock() { unsafe pthread_mutex_unlock(mutex) }

  /// Wakes everybody who waits.
  @usableFromInline
  func signal() { unsafe pthread_cond_broadcast(condition) }

  /// Waits for a signal without the lock, which it then has again; false when the time ran out first.
  ///
  /// - Parameter deadline: nil waits for as long as it takes.
  @usableFromInline
  func wait(until deadline: MonotonicDeadline?) -> Bool {
    guard var time = deadline?.time else {
      unsafe pthread_cond_wait(condition, mutex)
      return true
    }
    return unsafe pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
  }
}
