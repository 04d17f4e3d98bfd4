internal import Foundation

/// A day of an advertiser's budget: a day of the calendar in the advertiser's time zone.
public struct BudgetDay: Hashable, Sendable {
  /// Days since 1970-01-01.
  public let number: Int32
  /// Its first moment.
  public let start: Timestamp
  /// The moment after its last: nothing is served from this day's budget then.
  public let end: Timestamp

  public init(number: Int32, start: Timestamp, end: Timestamp) {
    self.number = number
    self.start = start
    self.end = end
  }

  /// Whether `moment` lies in it.
  public func contains(_ moment: Timestamp) -> Bool { start <= moment && moment < end }
}

/// Cuts time into budget days. A day begins the first time that the zone's clocks show it, so that days follow each other
/// without a gap or an overlap, also where a clock change repeats or leaves out midnight.
public struct BudgetCalendar: Hashable, Sendable {
  private static let dayMilliseconds: Int64 = 86_400_000
  /// Farther than any zone's offset, and than any change of it.
  private static let reachMilliseconds: Int64 = 30 * 3_600_000
  /// Years 1 to 9999, as elsewhere: all days fit, and no sum here overflows.
  private static let moments =
    Timestamp(milliseconds: -62_135_596_800_000)...Timestamp(milliseconds: 253_402_300_799_999)

  private let zone: TimeZone

  /// Nil for a name that is not one of the IANA time zones.
  public init?(timeZone name: String) {
    guard !name.isEmpty, name.utf8.count <= 64, let zone = TimeZone(identifier: name) else { return nil }
    self.zone = zone
  }

  /// The budget day that `moment` lies in; moments before the year 1 or after 9999 count as the nearest in them.
  public func day(of moment: Timestamp) -> BudgetDay {
    let moment = min(max(moment, BudgetCalendar.moments.lowerBound), BudgetCalendar.moments.upperBound)
    let local = moment.milliseconds + offsetMilliseconds(at: moment.milliseconds)
    var day = local.flooredQuotient(by: BudgetCalendar.dayMilliseconds)
    // A clock set back over midnight shows a day that is over: the next has begun.
    if start(of: day + 1) <= moment { day += 1 }
    return BudgetDay(number: Int32(clamping: day), start: start(of: day), end: start(of: day + 1))
  }

  /// The first moment at which the zone's clocks show `day` or a later one.
  private func start(of day: Int64) -> Timestamp {
    let midnight = day * BudgetCalendar.dayMilliseconds
    let before = midnight - offsetMilliseconds(at: midnight - BudgetCalendar.reachMilliseconds)
    let after = midnight - offsetMilliseconds(at: midnight + BudgetCalendar.reachMilliseconds)
    // It is midnight by the offset before or after a change; the earlier of the two that is really shown then.
    let earlier = min(before, after)
    let isShown = earlier + offsetMilliseconds(at: earlier) >= midnight
    return Timestamp(milliseconds: isShown ? earlier : max(before, after))
  }

  /// What the zone adds to UTC at a moment, in milliseconds.
  private func offsetMilliseconds(at milliseconds: Int64) -> Int64 {
    let seconds = milliseconds.flooredQuotient(by: 1_000)
    return Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))) * 1_000
  }
}
