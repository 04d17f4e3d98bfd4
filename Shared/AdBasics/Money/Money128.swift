/// A sum or balance in nanos: up to 38 digits, as the database's NUMERIC(38,0) holds. Arithmetic reports overflow.
public struct Money128: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The largest sum, and the smallest without its sign: 10³⁸ - 1.
  public static let maximum: Int128 = 99_999_999_999_999_999_999_999_999_999_999_999_999
  public static let zero = Money128(Nanos.zero)

  /// Nanos.
  public let value: Int128

  /// A sum of one amount.
  public init(_ amount: Nanos) { value = Int128(amount.value) }

  /// Nil beyond ``maximum``.
  public init?(_ value: Int128) {
    guard value >= -Money128.maximum, value <= Money128.maximum else { return nil }
    self.value = value
  }

  /// The sum of both.
  public func adding(_ other: Money128) throws(MoneyError) -> Money128 {
    // Two values within the limit are at most 2 x 10³⁸ apart from 0, beyond what Int128 holds: hence the check.
    let (result, overflow) = value.addingReportingOverflow(other.value)
    guard !overflow, let sum = Money128(result) else { throw .overflow(.addition) }
    return sum
  }

  /// The sum with one amount.
  public func adding(_ amount: Nanos) throws(MoneyError) -> Money128 { try adding(Money128(amount)) }

  /// The difference.
  public func subtracting(_ other: Money128) throws(MoneyError) -> Money128 {
    let (result, overflow) = value.subtractingReportingOverflow(other.value)
    guard !overflow, let difference = Money128(result) else { throw .overflow(.subtraction) }
    return difference
  }

  /// The difference with one amount.
  public func subtracting(_ amount: Nanos) throws(MoneyError) -> Money128 { try subtracting(Money128(amount)) }

  /// As ``MoneyText``.
  public var description: String { MoneyText.format(value) }
  public static func < (left: Money128, right: Money128) -> Bool { left.value < right.value }
}
