import Crypto
import TestValues
import Testing

@testable import AdCore

@Suite("A8: the keyed hash of a network")
struct NetworkHasherTests {
  private static let dayMilliseconds: Int64 = 86_400_000
  /// 192.0.2.0/24.
  private static let bits: UInt128 = 0xFFFF_C000_0200
  /// A day's first moment.
  private static let midnight = Timestamp(milliseconds: 20_000 * dayMilliseconds)

  private func hash(
    _ bits: UInt128 = bits, length: Int = 120, at now: Timestamp = midnight, ring: KeyRing = .sample(1)
  ) throws -> UInt32 { try NetworkHasher(ring: ring).hash(bits: bits, prefixLength: length, now: now) }

  @Test("it is the same from a day's first moment to its last, and another on every other day, in UTC")
  func days() throws {
    let last = Self.midnight.advanced(byMilliseconds: Self.dayMilliseconds - 1)
    #expect(try hash() == hash(at: last))
    let days = try (-3...3).map { try hash(at: Self.midnight.advanced(byMilliseconds: $0 * Self.dayMilliseconds)) }
    #expect(Set(days).count == 7)
    // Before 1970, which only a clock that is wrong tells, days have midnights, too.
    #expect(try hash(at: Timestamp(milliseconds: -1)) != hash(at: Timestamp(milliseconds: 0)))
    #expect(try hash(at: Timestamp(milliseconds: -1)) == hash(at: Timestamp(milliseconds: -Self.dayMilliseconds)))
  }

  @Test("it differs between networks, between lengths, and between keys")
  func distinct() throws {
    let others = try [
      hash(), hash(Self.bits + 256), hash(length: 119), hash(ring: .sample(2)), hash(0x2001_0DB8 << 96, length: 48),
      hash(ring: .sample(1, 2)),
    ]
    #expect(Set(others).count == 5, "the last two keys are one")
    #expect(try hash(ring: .sample(1, 2)) == hash(ring: .sample(2)))
  }

  @Test("whoever knows the network's secret makes it anew: under a key of its own, over the day and the network")
  func derivation() throws {
    let secret = try #require(KeyRing.sample(1).keys.first).secret
    let key = try HMACSHA256(key: secret).authenticate("handbill network hash".utf8)
    var input: [UInt8] = []
    for shift in stride(from: 56, through: 0, by: -8) { input.append(UInt8(truncatingIfNeeded: 20_000 >> shift)) }
    for shift in stride(from: 120, through: 0, by: -8) { input.append(UInt8(truncatingIfNeeded: Self.bits >> shift)) }
    let code = try HMACSHA256(key: key).authenticate(input + [120])
    #expect(try hash() == code.prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
  }
}
