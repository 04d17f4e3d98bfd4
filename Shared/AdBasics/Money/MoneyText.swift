/// Amounts of nanos as decimal text, exactly: `2287.00`, `-0.50`, `0.000000001`. At least two decimals, at most nine.
public enum MoneyText {
  /// How many decimals a nano has.
  public static let decimalsMaximum = 9
  private static let unit: UInt128 = 1_000_000_000

  /// The text of `nanos`.
  public static func format(_ nanos: Int128) -> String {
    let (whole, fraction) = nanos.magnitude.quotientAndRemainder(dividingBy: unit)
    var decimals = Array(String(fraction).utf8)
    decimals.insert(contentsOf: repeatElement(UInt8(ascii: "0"), count: decimalsMaximum - decimals.count), at: 0)
    while decimals.count > 2, decimals.last == UInt8(ascii: "0") { decimals.removeLast() }
    return (nanos < 0 ? "-" : "") + String(whole) + "." + String(decoding: decimals, as: UTF8.self)
  }

  /// The text of one amount.
  public static func format(_ amount: Nanos) -> String { format(Int128(amount.value)) }

  /// The nanos of a text: an optional `-`, digits, and optionally a point with one to nine digits. Nil for anything else,
  /// and for more than ``Nanos/sumMaximum``.
  public static func parse(_ text: String) -> Int128? {
    var digits = Array(text.utf8)[...]
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative { digits = digits.dropFirst() }
    let whole = digits.prefix { $0 != UInt8(ascii: ".") }
    let hasPoint = whole.count < digits.count
    let decimals = digits.dropFirst(whole.count + 1)
    guard !whole.isEmpty, hasPoint == !decimals.isEmpty, decimals.count <= decimalsMaximum else { return nil }
    var value: Int128 = 0
    for digit in whole + decimals + repeatElement(UInt8(ascii: "0"), count: decimalsMaximum - decimals.count) {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
      guard !overflow, shifted <= Nanos.sumMaximum - 9 else { return nil }
      value = shifted + Int128(digit - UInt8(ascii: "0"))
    }
    return isNegative ? -value : value
  }
}
