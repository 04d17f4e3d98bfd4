/// A UUID of version 7 (RFC 9562): its first 48 bits are the milliseconds of its making, so ids sort by time, cost half
/// of random ones in an index, and say which day's table they belong to.
public struct UUIDv7: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Bytes 0 to 7, big-endian.
  public let high: UInt64
  /// Bytes 8 to 15, big-endian.
  public let low: UInt64

  /// Makes an id of `timestamp` with 74 random bits taken from `randomHigh` (12 are used) and `randomLow` (62).
  public init(timestamp: Timestamp, randomHigh: UInt64, randomLow: UInt64) {
    let milliseconds = UInt64(clamping: timestamp.milliseconds) & 0xFFFF_FFFF_FFFF
    high = milliseconds << 16 | 0x7000 | randomHigh & 0xFFF
    low = 0x8000_0000_0000_0000 | randomLow & 0x3FFF_FFFF_FFFF_FFFF
  }

  /// Nil unless the version is 7 and the variant is RFC 9562's.
  public init?(high: UInt64, low: UInt64) {
    guard high >> 12 & 0xF == 7, low >> 62 == 2 else { return nil }
    self.high = high
    self.low = low
  }

  /// Bytes that somebody wrote where a version 7 belongs, whatever they say: good for naming a request with a mistake in
  /// its answer and its row. Its time means nothing.
  public init(asWritten high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// When the id was made.
  public var timestamp: Timestamp { Timestamp(milliseconds: Int64(high >> 16)) }

  public static func < (left: UUIDv7, right: UUIDv7) -> Bool {
    left.high != right.high ? left.high < right.high : left.low < right.low
  }

  /// The 36 characters of the usual text form, in lower case.
  public var description: String { String(decoding: utf8, as: UTF8.self) }

  /// The text form as bytes, for keys and headers, which are text for everybody.
  public var utf8: [UInt8] {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for index in 0..<32 {
      if index == 8 || index == 12 || index == 16 || index == 20 { text.append(UInt8(ascii: "-")) }
      let half = index < 16 ? high : low
      text.append(digits[Int(half >> UInt64(60 - 4 * (index % 16)) & 0xF)])
    }
    return text
  }

  /// The length of the text form.
  public static let textBytes = 36

  /// Reads the 36 characters of the text form, in either case; nil for anything else.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == UUIDv7.textBytes else { return nil }
    var halves: [UInt64] = [0, 0]
    var digit = 0
    for (index, byte) in bytes.enumerated() {
      if index == 8 || index == 13 || index == 18 || index == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      guard let value = Character(UnicodeScalar(byte)).hexDigitValue else { return nil }
      halves[digit / 16] = halves[digit / 16] << 4 | UInt64(value)
      digit += 1
    }
    self.init(high: halves[0], low: halves[1])
  }
}

/// The id of one served ad: from decision to ledger.
public typealias ServeID = UUIDv7
