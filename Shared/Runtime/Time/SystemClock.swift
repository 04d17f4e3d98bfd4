import AdCore
import Glibc
import Threads

/// A source of time. Decisions take times as parameters; only wiring holds a clock.
package protocol TimeSource: Sendable {
  /// The wall clock.
  var now: Timestamp { get }
  /// Milliseconds of a clock that never goes back and knows no date.
  var monotonicMilliseconds: Int64 { get }
}

/// The clocks of this machine.
package struct SystemClock: TimeSource {
  package init() {}

  package var now: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
  }
  package var monotonicMilliseconds: Int64 { MonotonicClock.milliseconds }

  /// Microseconds of the clock that never goes back.
  package var monotonicMicroseconds: Int64 { MonotonicClock.microseconds }
}

/// RFC 3339 text.
package enum RFC3339 {
  /// `2026-01-31T12:00:00.000Z`. Years outside 0000 to 9999 are written with as many digits as they need.
  package static func text(_ time: Timestamp) -> String {
    let (days, inDay) = floorDivide(time.milliseconds, 86_400_000)
    let (year, month, day) = date(daysSince1970: days)
    let (seconds, milliseconds) = floorDivide(inDay, 1_000)
    let clock = "\(digits(seconds / 3_600, 2)):\(digits(seconds / 60 % 60, 2)):\(digits(seconds % 60, 2))"
    return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))T\(clock).\(digits(milliseconds, 3))Z"
  }

  /// The Gregorian date, by eras of 400 years that begin on 1 March, so that leap days come last.
  private static func date(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = floorDivide(daysSince1970 + 719_468, 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }

  private static func floorDivide(_ number: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  private static func digits(_ number: Int64, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
}
