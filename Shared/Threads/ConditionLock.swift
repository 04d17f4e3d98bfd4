internal import Glibc

/// A lock with a condition under it: what is behind a ``Monitor``, whatever its state is.
@usableFromInline
struct ConditionLock: @unchecked Sendable {
  // `@unchecked Sendable` holds because both are made to be used by many threads.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() {
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  func destroy() {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  @usableFromInline
  func lock() { pthread_mutex_lock(mutex) }

  @usableFromInline
  func unlock() { pthread_mutex_unlock(mutex) }

  /// Wakes everybody who waits.
  @usableFromInline
  func signal() { pthread_cond_broadcast(condition) }

  /// Waits for a signal without the lock, which it then has again; false when the time ran out first.
  ///
  /// - Parameter deadline: nil waits for as long as it takes.
  @usableFromInline
  func wait(until deadline: MonotonicDeadline?) -> Bool {
    guard var time = deadline?.time else {
      pthread_cond_wait(condition, mutex)
      return true
    }
    return pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
  }
}
