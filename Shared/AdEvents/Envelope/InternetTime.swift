package import AdCore

/// RFC 3339 times, as CloudEvents writes them.
package enum InternetTime {
  /// The moment that `bytes` name, to the millisecond (finer digits are cut); nil for anything that is no RFC 3339
  /// time between 1970 and 9999.
  package static func timestamp(_ bytes: UnsafeRawBufferPointer) -> Timestamp? {
    guard bytes.count >= 20, bytes.count <= 40,
      let year = number(bytes, 0, 4), bytes[4] == UInt8(ascii: "-"), let month = number(bytes, 5, 2),
      bytes[7] == UInt8(ascii: "-"), let day = number(bytes, 8, 2), bytes[10] | 0x20 == UInt8(ascii: "t"),
      let hour = number(bytes, 11, 2), bytes[13] == UInt8(ascii: ":"), let minute = number(bytes, 14, 2),
      bytes[16] == UInt8(ascii: ":"), let second = number(bytes, 17, 2)
    else { return nil }
    guard (1...12).contains(month), day >= 1, day <= days(inMonth: month, year), hour < 24, minute < 60, second <= 60
    else { return nil }
    var position = 19
    var milliseconds: Int64 = 0
    if bytes[position] == UInt8(ascii: ".") {
      position += 1
      guard let fraction = fraction(bytes, &position) else { return nil }
      milliseconds = fraction
    }
    guard let offset = offsetMinutes(bytes, position) else { return nil }
    let minutes = (dayNumber(year, month, day) * 24 + hour) * 60 + minute - offset
    // A leap second is the second before it: clocks that smear or repeat it do the same.
    let result = (minutes * 60 + min(second, 59)) * 1_000 + milliseconds
    guard (0...FieldLimits.timestampMaximum).contains(result) else { return nil }
    return Timestamp(milliseconds: result)
  }

  /// The 24 characters `2010-07-01T12:00:00.000Z`.
  package static func bytes(_ timestamp: Timestamp) -> [UInt8] {
    let milliseconds = min(max(timestamp.milliseconds, 0), FieldLimits.timestampMaximum)
    let (dayCount, ofDay) = milliseconds.quotientAndRemainder(dividingBy: 86_400_000)
    let (year, month, day) = civil(dayCount)
    return [UInt8](unsafeUninitializedCapacity: 24) { text, count in
      put(year, 4, "-", at: 0, &text)
      put(month, 2, "-", at: 5, &text)
      put(day, 2, "T", at: 8, &text)
      put(ofDay / 3_600_000, 2, ":", at: 11, &text)
      put(ofDay / 60_000 % 60, 2, ":", at: 14, &text)
      put(ofDay / 1_000 % 60, 2, ".", at: 17, &text)
      put(ofDay % 1_000, 3, "Z", at: 20, &text)
      count = 24
    }
  }

  private static func put(
    _ value: Int64, _ digits: Int, _ separator: Unicode.Scalar, at start: Int,
    _ text: inout UnsafeMutableBufferPointer<UInt8>
  ) {
    var rest = value
    for position in (start..<start + digits).reversed() {
      text[position] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
    text[start + digits] = UInt8(ascii: separator)
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ count: Int) -> Int64? {
    guard start + count <= bytes.count else { return nil }
    var value: Int64 = 0
    for byte in bytes[start..<start + count] {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      value = value * 10 + Int64(byte - UInt8(ascii: "0"))
    }
    return value
  }

  private static func fraction(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> Int64? {
    var milliseconds: Int64 = 0
    var digits = 0
    while position < bytes.count, bytes[position] >= UInt8(ascii: "0"), bytes[position] <= UInt8(ascii: "9") {
      if digits < 3 { milliseconds = milliseconds * 10 + Int64(bytes[position] - UInt8(ascii: "0")) }
      digits += 1
      position += 1
    }
    guard digits > 0 else { return nil }
    for _ in min(digits, 3)..<3 { milliseconds *= 10 }
    return milliseconds
  }

  private static func offsetMinutes(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> Int64? {
    guard position < bytes.count else { return nil }
    if bytes[position] | 0x20 == UInt8(ascii: "z") { return bytes.count == position + 1 ? 0 : nil }
    let sign: Int64
    switch bytes[position] {
    case UInt8(ascii: "+"): sign = 1
    case UInt8(ascii: "-"): sign = -1
    default: return nil
    }
    guard bytes.count == position + 6, bytes[position + 3] == UInt8(ascii: ":"),
      let hours = number(bytes, position + 1, 2), let minutes = number(bytes, position + 4, 2), hours < 24,
      minutes < 60
    else { return nil }
    return sign * (hours * 60 + minutes)
  }

  private static func days(inMonth month: Int64, _ year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1970-01-01. Years begin in March here, so that the leap day is a year's last.
  private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The reverse, for days from 1970-01-01 on.
  private static func civil(_ dayCount: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = dayCount + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthIndex = (5 * dayOfYear + 2) / 153
    let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthIndex + 2) / 5 + 1)
  }
}
