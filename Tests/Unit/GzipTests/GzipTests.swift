import Testing

@testable import Gzip

@Suite("gzip within bounds")
struct GzipTests {
  @Test("what is cut off, altered or followed by something is refused")
  func malformed() throws {
    let whole = try Self.sample()
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
    let whole = try Self.sample()
    #expect(try Gzip.expand(whole, maximum: Self.text.count) == Self.text)
    #expect(throws: Gzip.Mistake.tooLarge) { try Gzip.expand(whole, maximum: Self.text.count - 1) }
    #expect(throws: Gzip.Mistake.tooLarge) { try Gzip.expand(whole, maximum: 0) }
  }

  private static let text = [UInt8](repeating: UInt8(ascii: "x"), count: 5_000)

  /// gzip made of zlib's form: another head, and another end.
  private static func sample() throws -> [UInt8] {
    let zlib = try #require(Gzip.deflated(text))
    let checksum = Gzip.checksum(text)
    let end = [checksum, UInt32(text.count)].flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + zlib[2..<zlib.count - 4] + end
  }
}
