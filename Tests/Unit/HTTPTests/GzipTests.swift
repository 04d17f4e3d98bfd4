import Testing

@testable import HTTP

@Suite("gzip within bounds")
struct GzipTests {
  @Test("what is cut off, altered or followed by something is refused")
  func malformed() throws {
    let whole = Self.packed
    #expect(try Gzip.expand(whole, maximum: 10_000) == Self.text)
    for count in 0..<whole.count {
      #expect(throws: Gzip.Mistake.malformed) { try Gzip.expand(Array(whole.prefix(count)), maximum: 10_000) }
    }
    #expect(throws: Gzip.Mistake.malformed) { try Gzip.expand(whole + [0], maximum: 10_000) }
    var altered = whole
    altered[altered.count - 5] ^= 1
    #expect(throws: Gzip.Mistake.malformed) { try Gzip.expand(altered, maximum: 10_000) }
  }

  @Test("it unpacks up to the limit and not one byte beyond")
  func limit() throws {
    let whole = Self.packed
    #expect(try Gzip.expand(whole, maximum: Self.text.count) == Self.text)
    #expect(throws: Gzip.Mistake.tooLarge) { try Gzip.expand(whole, maximum: Self.text.count - 1) }
    #expect(throws: Gzip.Mistake.tooLarge) { try Gzip.expand(whole, maximum: 0) }
  }

  private static let text = [UInt8](repeating: UInt8(ascii: "x"), count: 5_000)

  /// The same, as Python's gzip packs it.
  private static let packed: [UInt8] = [
    0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3, 0xED, 0xC1, 0x31, 1, 0, 0,
    0, 0xC2, 0xA0, 0xDA, 0x8B, 0x6F, 0x0A, 0x3F, 0xA0, 0, 0, 0, 0, 0x80, 0xB7, 1,
    0x26, 0xF0, 0xDB, 0, 0x88, 0x13, 0, 0,
  ]
}
