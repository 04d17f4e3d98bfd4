/// PostgreSQL's `numeric` in its binary form: number of digits to the base 10,000, the first one's exponent, sign,
/// decimal places (each two bytes), then the digits, most significant first.
struct NumericDigits {
  private static let negative: UInt16 = 0x4000

  /// Least significant digit first, 16 bits each: 39 decimal digits are at most 10 to the base 10,000.
  private var digits: InlineDigits = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
  private(set) var count = 0
  /// How many of the least significant digits are zero, which the form leaves out.
  private var trailingZeros = 0
  private let isNegative: Bool

  private typealias InlineDigits = (
    UInt16, UInt16, UInt16, UInt16, UInt16, UInt16, UInt16, UInt16, UInt16, UInt16
  )

  init(_ value: Int128) {
    isNegative = value < 0
    var rest = value.magnitude
    // Most amounts fit 64 bits, whose division is several times as fast.
    var found = 0
    unsafe withUnsafeMutableBytes(of: &digits) { raw in
      let base = unsafe raw.bindMemory(to: UInt16.self)
      while rest > UInt128(UInt64.max) {
        let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10_000)
        unsafe base[found] = UInt16(truncatingIfNeeded: digit)
        found += 1
        rest = quotient
      }
      var small = UInt64(truncatingIfNeeded: rest)
      while small > 0 {
        unsafe base[found] = UInt16(truncatingIfNeeded: small % 10_000)
        found += 1
        small /= 10_000
      }
    }
    count = found
    while trailingZeros < count, digit(trailingZeros) == 0 { trailingZeros += 1 }
  }

  private func digit(_ index: Int) -> UInt16 {
    unsafe withUnsafeBytes(of: digits) { unsafe $0.load(fromByteOffset: index * 2, as: UInt16.self) }
  }

  /// How many bytes the form has.
  var byteCount: Int { 8 + 2 * (count - trailingZeros) }

  /// Byte `index` of the form.
  func byte(_ index: Int) -> UInt8 {
    let word = word(index / 2)
    return UInt8(truncatingIfNeeded: index % 2 == 0 ? word >> 8 : word)
  }

  /// Word `index` of the form: four of the head, then the digits.
  func word(_ index: Int) -> UInt16 {
    switch index {
    case 0: UInt16(count - trailingZeros)
    case 1: count == 0 ? 0 : UInt16(count - 1)
    case 2: isNegative ? Self.negative : 0
    case 3: 0
    default: digit(count - 1 - (index - 4))
    }
  }

  /// The integer that the form holds; nil for a fraction, an infinity, not-a-number, or more than 128 bits.
  static func decode(_ bytes: UnsafeRawBufferPointer) -> Int128? {
    var reader = unsafe ByteReader(bytes)
    guard let count = reader.int16(), let weight = reader.int16(), let sign = reader.int16(),
      reader.int16() != nil,
      count >= 0, sign == 0 || UInt16(bitPattern: sign) == negative
    else { return nil }
    var value: Int128 = 0
    let digits = max(Int(weight) + 1, Int(count))
    for index in 0..<max(digits, 0) {
      let isFraction = index > Int(weight)
      var digit: Int16 = 0
      if index < Int(count) {
        guard let next = reader.int16(), (0..<10_000).contains(next) else { return nil }
        digit = next
      }
      if isFraction || weight < 0 {
        guard digit == 0 else { return nil }
        continue
      }
      // Negative all the way, because the most negative number has no positive counterpart.
      let (product, overflow) = value.multipliedReportingOverflow(by: 10_000)
      let (difference, underflow) = product.subtractingReportingOverflow(Int128(digit))
      guard !overflow, !underflow else { return nil }
      value = difference
    }
    if sign != 0 { return value }
    return value == .min ? nil : -value
  }
}
