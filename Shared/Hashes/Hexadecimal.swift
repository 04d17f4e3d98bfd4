/// Bytes as hexadecimal digits in lower case.
package enum Hexadecimal {
  /// Two digits for each byte.
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Nil for anything but pairs of hexadecimal digits.
  package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    let digits = text.map(\.hexDigitValue)
    guard digits.count % 2 == 0, digits.allSatisfy({ $0 != nil }) else { return nil }
    let values = digits.compactMap { $0 }
    return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
  }
}
