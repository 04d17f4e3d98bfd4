import Glibc
import Threads

/// Moments at a fixed rate, whether what is done at them is ready or not.
struct Pace {
  private let start = MonotonicClock.microseconds
  let perSecond: Int

  /// Blocks until the moment of the `number`th, from 0; returns at once when it has passed.
  func wait(for number: Int) {
    let due = start + Int64(number) * 1_000_000 / Int64(perSecond)
    guard due > MonotonicClock.microseconds else { return }
    var moment = timespec(tv_sec: Int(due / 1_000_000), tv_nsec: Int(due % 1_000_000) * 1_000)
    while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, nil) == EINTR {}
  }
}
