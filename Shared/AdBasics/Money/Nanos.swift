/// An amount of money of one event or price: an integer of 10⁻⁹ of its currency's unit (B3). A CPM in micros is, number
/// for number, the price of one impression in nanos. Sums are `Int128`.
public struct Nanos: Hashable, Comparable, Sendable {
  public let value: Int64

  public init(_ value: Int64) { self.value = value }

  public static let zero = Nanos(0)

  /// How many make one unit of a currency.
  public static let perUnit: Int64 = 1_000_000_000
  /// The largest sum, and the smallest without its sign: 10³⁸ - 1, as the database's NUMERIC(38,0) holds.
  public static let sumMaximum: Int128 = 99_999_999_999_999_999_999_999_999_999_999_999_999

  public static func < (left: Nanos, right: Nanos) -> Bool { left.value < right.value }
}

/// A currency by its ISO 4217 code: three upper-case letters.
public struct Currency: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The three ASCII letters, the first in the highest of the lower three bytes.
  @usableFromInline
  let code: UInt32

  /// Nil unless `text` is three letters `A-Z`.
  public init?(_ text: String) {
    var text = text
    guard let currency = text.withUTF8({ Currency(bytes: UnsafeRawBufferPointer($0)) }) else { return nil }
    self = currency
  }

  /// The same from raw bytes.
  public init?(bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 3, bytes.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) else {
      return nil
    }
    code = bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  public var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }
  public var description: String { text }
  public static func < (left: Currency, right: Currency) -> Bool { left.code < right.code }
}

extension Currency: InlineText {
  @inlinable
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withUnsafeBytes(of: code.bigEndian) { body(UnsafeRawBufferPointer(rebasing: $0[1...])) }
  }
}
