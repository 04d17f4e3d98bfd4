package import AdCore
internal import Glibc
internal import Threads

/// The clocks of this machine.
package struct SystemClock: TimeSource {
  package init() {}

  package var now: Timestamp {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
  }
  package var monotonicMilliseconds: Int64 { MonotonicClock.milliseconds }

  /// Microseconds of the clock that never goes back.
  package var monotonicMicroseconds: Int64 { MonotonicClock.microseconds }
}
