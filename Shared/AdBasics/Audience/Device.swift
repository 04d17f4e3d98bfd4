/// The device families that sizes and targeting know.
public enum Device: UInt8, CaseIterable, Sendable {
  case phone = 1
  case pad = 2
}

/// How an app was built; its registered key says which (A1). Only `distribution` sees live ads.
public enum BuildKind: UInt8, CaseIterable, Sendable {
  case developer = 1
  case adHoc = 2
  case distribution = 3
}

/// A country by its ISO 3166-1 alpha-2 code, in upper case.
public struct Country: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The two ASCII letters, the first in the high byte.
  public let code: UInt16

  /// Nil unless `text` is two letters `A-Z`.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 2 else { return nil }
    self.init(code: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
  }

  /// Nil unless both bytes are letters `A-Z`.
  public init?(code: UInt16) {
    let letters = UInt16(UInt8(ascii: "A"))...UInt16(UInt8(ascii: "Z"))
    guard letters.contains(code >> 8), letters.contains(code & 0xFF) else { return nil }
    self.code = code
  }

  public var description: String { withBytes { String(decoding: $0, as: UTF8.self) } }
  public static func < (left: Country, right: Country) -> Bool { left.code < right.code }
}

extension Country: InlineText {
  @inlinable
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withUnsafeBytes(of: code.bigEndian, body)
  }
}
