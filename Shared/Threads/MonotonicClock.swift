internal import Glibc

/// The clock that no one sets: it never goes back and knows no date.
package enum MonotonicClock {
  /// Milliseconds since some fixed moment.
  package static var milliseconds: Int64 {
    let now = read()
    return Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000
  }

  /// Microseconds since the same moment.
  package static var microseconds: Int64 {
    let now = read()
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1_000
  }

  fileprivate static func read() -> timespec {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return now
  }
}

/// The moment at which a wait under a lock ends.
@usableFromInline
struct MonotonicDeadline {
  let time: timespec

  /// So many milliseconds from now: at least now, at most in a day.
  @usableFromInline
  init(afterMilliseconds milliseconds: Int) {
    let now = MonotonicClock.read()
    let bounded = min(max(milliseconds, 0), 86_400_000)
    let nanoseconds = now.tv_nsec + (bounded % 1_000) * 1_000_000
    time = timespec(
      tv_sec: now.tv_sec + bounded / 1_000 + nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
  }
}

/// A moment of the monotonic clock by which something blocking has to be done.
package struct Deadline: Sendable {
  private let end: Int64

  package init(afterMilliseconds milliseconds: some BinaryInteger) {
    end = MonotonicClock.milliseconds + Int64(max(0, Int32(clamping: milliseconds)))
  }

  /// From 0.
  package var remainingMilliseconds: Int32 { Int32(clamping: max(end - MonotonicClock.milliseconds, 0)) }
  package var isOver: Bool { remainingMilliseconds == 0 }
}
