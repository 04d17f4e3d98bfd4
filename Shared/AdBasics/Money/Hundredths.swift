/// A figure with two decimals, rounded half up from exact integers, as reports show ratios and eCPM (M1 to M3, M6).
public struct Hundredths: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The figure times 100.
  public let value: Int128

  public init(_ value: Int128) { self.value = value }

  /// `part` of `whole` in percent: fill rate (M1), click-through rate (M2). Absent for a whole of 0 (M6).
  public static func percent(_ part: Int64, of whole: Int64) -> Hundredths? {
    guard whole > 0 else { return nil }
    return Hundredths(roundedHalfUp(Int128(part) * 10_000, dividedBy: Int128(whole)))
  }

  /// Revenue for a thousand impressions, in units of the currency: eCPM of the developer's revenue, gross eCPM of what
  /// advertisers pay (M3). Absent without impressions (M6).
  ///
  /// - Parameter revenue: Nanos.
  public static func perThousand(revenue: Int128, impressions: Int64) -> Hundredths? {
    guard impressions > 0 else { return nil }
    // x 1,000 for the thousand, x 100 for the hundredths, / 10⁹ for the nanos.
    return Hundredths(roundedHalfUp(revenue, dividedBy: Int128(impressions) * 10_000))
  }

  /// `dividend / divisor`, where a half goes up. `divisor` must be positive.
  static func roundedHalfUp(_ dividend: Int128, dividedBy divisor: Int128) -> Int128 {
    var (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
    if remainder < 0 {
      quotient -= 1
      remainder += divisor
    }
    return remainder >= divisor - remainder ? quotient + 1 : quotient
  }

  /// As in `34.90`.
  public var description: String {
    let (whole, decimals) = value.magnitude.quotientAndRemainder(dividingBy: 100)
    return (value < 0 ? "-" : "") + String(whole) + (decimals < 10 ? ".0" : ".") + String(decimals)
  }

  public static func < (left: Hundredths, right: Hundredths) -> Bool { left.value < right.value }
}
