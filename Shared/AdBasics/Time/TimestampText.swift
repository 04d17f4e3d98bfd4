/// Moments as RFC 3339 writes them: the one place where they are written and read.
extension Timestamp {
  /// The moment as `2026-01-31T23:59:59.999Z`, without the fraction where it is a whole second. The years go from 1 to
  /// 9999; moments outside are shown at the nearest end.
  public var utcText: String {
    let text = rfc3339
    return String(decoding: text[20..<23].elementsEqual("000".utf8) ? text[..<19] + "Z".utf8 : text[...], as: UTF8.self)
  }

  /// The same, always with its milliseconds.
  package var rfc3339Text: String { String(decoding: rfc3339, as: UTF8.self) }

  /// The 24 bytes of ``rfc3339Text``.
  package var rfc3339: [UInt8] {
    let held = min(max(milliseconds, Timestamp.earliestText), Timestamp.latestText)
    let days = held.flooredQuotient(by: 86_400_000)
    let ofDay = held - days * 86_400_000
    let date = CivilDate(daysSince1970: days)
    return [UInt8](unsafeUninitializedCapacity: 24) { text, count in
      Timestamp.put(date.year, 4, "-", at: 0, &text)
      Timestamp.put(date.month, 2, "-", at: 5, &text)
      Timestamp.put(date.day, 2, "T", at: 8, &text)
      Timestamp.put(ofDay / 3_600_000, 2, ":", at: 11, &text)
      Timestamp.put(ofDay / 60_000 % 60, 2, ":", at: 14, &text)
      Timestamp.put(ofDay / 1_000 % 60, 2, ".", at: 17, &text)
      Timestamp.put(ofDay % 1_000, 3, "Z", at: 20, &text)
      count = 24
    }
  }

  /// Reads the form that people write: with an offset of `Z`, in capitals, with a fraction of 1 to 9 digits of which
  /// three count. Nil for anything else, leap seconds included.
  public init?(utcText text: String) {
    var text = text
    let moment = text.withUTF8 { bytes -> Timestamp? in
      guard (20...30).contains(bytes.count), bytes.last == UInt8(ascii: "Z"), bytes[10] == UInt8(ascii: "T"),
        !bytes[17..<19].elementsEqual("60".utf8)
      else { return nil }
      return Timestamp(rfc3339: UnsafeRawBufferPointer(bytes))
    }
    guard let moment else { return nil }
    self = moment
  }

  /// Reads any time of RFC 3339 in the years 1 to 9999, to the millisecond; finer digits are cut.
  package init?(rfc3339 bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 20, bytes.count <= 40, let date = Timestamp.date(bytes), bytes[10] | 0x20 == UInt8(ascii: "t"),
      let hour = Timestamp.number(bytes, 11, 2), bytes[13] == UInt8(ascii: ":"),
      let minute = Timestamp.number(bytes, 14, 2), bytes[16] == UInt8(ascii: ":"),
      let second = Timestamp.number(bytes, 17, 2), hour < 24, minute < 60, second <= 60
    else { return nil }
    var position = 19
    var fraction: Int64 = 0
    if bytes[position] == UInt8(ascii: ".") {
      position += 1
      guard let digits = Timestamp.fraction(bytes, &position) else { return nil }
      fraction = digits
    }
    guard let offset = Timestamp.offsetMinutes(bytes, position) else { return nil }
    let minutes = (date.daysSince1970 * 24 + hour) * 60 + minute - offset
    // A leap second is the second before it: clocks that smear or repeat it do the same.
    let result = (minutes * 60 + min(second, 59)) * 1_000 + fraction
    guard (Timestamp.earliestText...Timestamp.latestText).contains(result) else { return nil }
    self.init(milliseconds: result)
  }

  /// 0001-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z.
  private static let earliestText: Int64 = -62_135_596_800_000
  private static let latestText: Int64 = 253_402_300_799_999

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

  private static func date(_ bytes: UnsafeRawBufferPointer) -> CivilDate? {
    guard let year = number(bytes, 0, 4), bytes[4] == UInt8(ascii: "-"), let month = number(bytes, 5, 2),
      bytes[7] == UInt8(ascii: "-"), let day = number(bytes, 8, 2)
    else { return nil }
    return CivilDate(year: year, month: month, day: day)
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
}
