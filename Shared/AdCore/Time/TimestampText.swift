extension Timestamp {
  /// The moment as `2026-01-31T23:59:59.999Z`, without the fraction where it is a whole second. The years go from 1 to
  /// 9999; moments outside are shown at the nearest end.
  public var utcText: String {
    let held = min(max(milliseconds, Timestamp.earliestText), Timestamp.latestText)
    let days = held.flooredQuotient(by: 86_400_000)
    let ofDay = held - days * 86_400_000
    let date = CivilDate(daysSince1970: days)
    let fraction = ofDay % 1_000
    return Timestamp.padded(date.year, 4) + "-" + Timestamp.padded(date.month, 2) + "-" + Timestamp.padded(date.day, 2)
      + "T" + Timestamp.padded(ofDay / 3_600_000, 2) + ":" + Timestamp.padded(ofDay / 60_000 % 60, 2) + ":"
      + Timestamp.padded(ofDay / 1_000 % 60, 2) + (fraction == 0 ? "" : "." + Timestamp.padded(fraction, 3)) + "Z"
  }

  /// Reads the form of RFC 3339 with an offset of `Z`: date, `T`, time, and a fraction of 1 to 9 digits of which three
  /// count. Nil for anything else, impossible dates and leap seconds included.
  public init?(utcText text: String) {
    let bytes = Array(text.utf8)
    guard (20...30).contains(bytes.count), bytes.last == UInt8(ascii: "Z") else { return nil }
    for (index, separator) in zip([4, 7, 10, 13, 16], "--T::".utf8) where bytes[index] != separator { return nil }
    guard let year = Timestamp.number(bytes[0..<4]), let month = Timestamp.number(bytes[5..<7]),
      let day = Timestamp.number(bytes[8..<10]), let hour = Timestamp.number(bytes[11..<13]),
      let minute = Timestamp.number(bytes[14..<16]), let second = Timestamp.number(bytes[17..<19]),
      hour < 24, minute < 60, second < 60, let date = CivilDate(year: year, month: month, day: day)
    else { return nil }
    var fraction: Int64 = 0
    if bytes.count > 20 {
      let digits = bytes[20..<(bytes.count - 1)]
      guard bytes[19] == UInt8(ascii: "."), !digits.isEmpty, Timestamp.number(digits) != nil else { return nil }
      let three = Array(digits.prefix(3)) + Array(repeating: UInt8(ascii: "0"), count: max(0, 3 - digits.count))
      fraction = Timestamp.number(three[...]) ?? 0
    }
    self.init(
      milliseconds: date.daysSince1970 * 86_400_000 + hour * 3_600_000 + minute * 60_000 + second * 1_000 + fraction)
  }

  /// 0001-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z.
  private static let earliestText: Int64 = -62_135_596_800_000
  private static let latestText: Int64 = 253_402_300_799_999

  private static func padded(_ value: Int64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    var value: Int64 = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      value = value * 10 + Int64(digit - UInt8(ascii: "0"))
    }
    return value
  }
}

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
