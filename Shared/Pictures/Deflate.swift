/// What a PNG's pixels are packed into: one block of deflate (RFC 1951) with the codes that need no table, in zlib's frame
/// (RFC 1950). Whoever writes says himself what repeats; nothing is searched for.
struct Deflate {
  /// How far back and how long a copy may be.
  static let distanceMaximum = 32_768
  private static let copyMaximum = 258

  /// The first length of each code from 257 on, and how many bits follow that choose among those up to the next.
  private static let lengths = codes(
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5], from: 3)
  /// The same of distances, from code 0 on.
  private static let distances = codes(
    [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13], from: 1)

  private var packed: [UInt8] = [0x78, 0x01]
  private var bits: UInt32 = 0
  private var bitCount: UInt32 = 0
  /// The two sums of Adler-32.
  private var sums: (a: UInt64, b: UInt64) = (1, 0)

  init() {
    // The last block, with fixed codes.
    put(1, 1)
    put(1, 2)
  }

  /// One byte.
  mutating func add(_ byte: UInt8) {
    let value = UInt32(byte)
    if value < 144 { putCode(0x30 + value, 8) } else { putCode(0x190 + value - 144, 9) }
    sums.a = (sums.a + UInt64(byte)) % 65_521
    sums.b = (sums.b + sums.a) % 65_521
  }

  /// Bytes, of which runs of the same are written once.
  mutating func add(_ bytes: [UInt8]) {
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      let run = bytes[index...].prefix { $0 == byte }.count
      add(byte)
      repeatLast([byte], times: run - 1)
      index += run
    }
  }

  /// What was written last, `piece`, so many times more.
  mutating func repeatLast(_ piece: [UInt8], times: Int) {
    var left = piece.count * times
    guard piece.count <= Self.distanceMaximum else {
      for _ in 0..<times { add(piece) }
      return
    }
    for _ in 0..<times { check(piece) }
    while left > 0 {
      // A copy has at least three bytes, and so must the last one.
      let count = left <= Self.copyMaximum ? left : min(Self.copyMaximum, left - 3)
      if count < 3 {
        putLiterals(piece, from: piece.count * times - left, count: count)
      } else {
        copy(count, distance: piece.count)
      }
      left -= count
    }
  }

  /// All of it.
  mutating func finish() -> [UInt8] {
    putCode(0, 7)
    put(0, (8 - bitCount % 8) % 8)
    let sum = UInt32(sums.b) << 16 | UInt32(sums.a)
    return packed + (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * UInt32($0))) }
  }

  private mutating func check(_ piece: [UInt8]) {
    if piece.allSatisfy({ $0 == 0 }) {
      sums.b = (sums.b + sums.a * UInt64(piece.count)) % 65_521
      return
    }
    for byte in piece {
      sums.a = (sums.a + UInt64(byte)) % 65_521
      sums.b = (sums.b + sums.a) % 65_521
    }
  }

  private mutating func putLiterals(_ piece: [UInt8], from start: Int, count: Int) {
    for index in start..<start + count {
      let value = UInt32(piece[index % piece.count])
      if value < 144 { putCode(0x30 + value, 8) } else { putCode(0x190 + value - 144, 9) }
    }
  }

  private mutating func copy(_ length: Int, distance: Int) {
    let (code, rest, restBits) = Self.code(length, in: Self.lengths)
    // 258 has a code of its own, without bits that follow.
    if length == Self.copyMaximum {
      putCode(0xC5, 8)
    } else {
      let symbol = UInt32(257 + code)
      if symbol < 280 { putCode(symbol - 256, 7) } else { putCode(0xC0 + symbol - 280, 8) }
      put(rest, restBits)
    }
    let (distanceCode, distanceRest, distanceBits) = Self.code(distance, in: Self.distances)
    putCode(UInt32(distanceCode), 5)
    put(distanceRest, distanceBits)
  }

  private struct Code {
    let first: Int
    let bits: UInt32
  }

  private static func codes(_ bits: [UInt32], from first: Int) -> [Code] {
    var next = first
    return bits.map { bits in
      defer { next += 1 << Int(bits) }
      return Code(first: next, bits: bits)
    }
  }

  private static func code(_ value: Int, in codes: [Code]) -> (code: Int, rest: UInt32, restBits: UInt32) {
    let index = (codes.lastIndex { $0.first <= value }) ?? 0
    return (index, UInt32(value - codes[index].first), codes[index].bits)
  }

  /// Numbers begin with their lowest bit.
  private mutating func put(_ value: UInt32, _ count: UInt32) {
    bits |= value << bitCount
    bitCount += count
    while bitCount >= 8 {
      packed.append(UInt8(truncatingIfNeeded: bits))
      bits >>= 8
      bitCount -= 8
    }
  }

  /// Codes begin with their highest bit.
  private mutating func putCode(_ code: UInt32, _ count: UInt32) {
    var turned: UInt32 = 0
    for index in 0..<count where code >> index & 1 == 1 { turned |= 1 << (count - 1 - index) }
    put(turned, count)
  }
}
