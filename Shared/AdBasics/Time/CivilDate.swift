/// A day of the Gregorian calendar, extended to before its own beginning.
public struct CivilDate: Hashable, Sendable {
  public let year: Int64
  /// 1 to 12.
  public let month: Int64
  /// 1 to 31.
  public let day: Int64

  /// Nil for a day that does not exist, and for years outside 1 to 9999.
  public init?(year: Int64, month: Int64, day: Int64) {
    guard (1...9_999).contains(year), (1...12).contains(month) else { return nil }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (1...lengths[Int(month - 1)]).contains(day) else { return nil }
    self.year = year
    self.month = month
    self.day = day
  }

  /// The date that lies `days` after 1970-01-01. `days` must lie within about 10¹³ of 0.
  public init(daysSince1970 days: Int64) {
    // Years begin in March here, so that the leap day is a year's last: 400 of them have 146,097 days.
    let shifted = days + 719_468
    let era = shifted.flooredQuotient(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// How many days lie between 1970-01-01 and this one; negative before it.
  public var daysSince1970: Int64 {
    let fromMarch = month <= 2 ? year - 1 : year
    let era = fromMarch.flooredQuotient(by: 400)
    let yearOfEra = fromMarch - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

extension Int64 {
  /// The quotient rounded down, also below 0. `divisor` must be positive.
  func flooredQuotient(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
