/// Whole numbers as JSON writes them, exactly: also `1.0` and `1e3`, but never `1.5`.
package enum ExactInteger {
  /// A longer text is none, and is not looked at: it may be a stranger's.
  private static let bytesMaximum = 128

  /// Nil for anything that is no number, not whole, or of more than 30 digits.
  package static func parse(_ text: String) -> Int128? {
    guard text.utf8.count <= bytesMaximum else { return nil }
    if text.utf8.count <= 20, let plain = Int128(text) { return text.utf8.first == UInt8(ascii: "+") ? nil : plain }
    let parts = text.split(omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
    guard (1...2).contains(parts.count), let mantissa = parts.first, mantissa.utf8.count <= 64 else { return nil }
    guard let exponent = parts.count == 2 ? Int(parts[1]) : 0, (-64...64).contains(exponent) else { return nil }
    let isNegative = mantissa.first == "-"
    let halves = mantissa.drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(halves.count), let whole = halves.first, !whole.isEmpty else { return nil }
    let fraction = halves.count == 2 ? halves[1] : ""
    guard halves.count == 1 || !fraction.isEmpty else { return nil }
    var digits = Array((whole + fraction).utf8)
    guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    let point = whole.utf8.count + exponent
    let zero = UInt8(ascii: "0")
    if point < digits.count {
      guard digits.dropFirst(max(point, 0)).allSatisfy({ $0 == zero }) else { return nil }
      digits = Array(digits.prefix(max(point, 0)))
    } else {
      digits += repeatElement(zero, count: point - digits.count)
    }
    let significant = digits.drop { $0 == zero }
    guard significant.count <= 30 else { return nil }
    let value = significant.reduce(Int128(0)) { $0 * 10 + Int128($1 - zero) }
    return isNegative ? -value : value
  }
}
