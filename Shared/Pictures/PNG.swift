/// Writes pictures of up to four colours as PNG (ISO 15948). The same picture is the same bytes for ever, whatever libraries
/// a machine has: programs that never met agree on its hash.
enum PNG {
  /// A part of a picture that is the same in all its rows.
  struct Band: Hashable {
    /// The number of each pixel's colour, 0 to 3.
    var pixels: [UInt8]
    /// How many rows.
    var rowCount: Int
  }

  struct Color: Hashable {
    let red, green, blue: UInt8

    init(_ hexadecimal: UInt32) {
      red = UInt8(truncatingIfNeeded: hexadecimal >> 16)
      green = UInt8(truncatingIfNeeded: hexadecimal >> 8)
      blue = UInt8(truncatingIfNeeded: hexadecimal)
    }
  }

  /// - Parameters:
  ///   - bands: from top to bottom, all of one width.
  ///   - colors: at most four.
  static func encode(_ bands: [Band], colors: [Color]) -> [UInt8] {
    let width = bands.first?.pixels.count ?? 0
    let height = bands.reduce(0) { $0 + $1.rowCount }
    let header = word(UInt32(width)) + word(UInt32(height)) + [2, 3, 0, 0, 0]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header)
      + chunk("PLTE", colors.flatMap { [$0.red, $0.green, $0.blue] }) + chunk("IDAT", pixels(bands)) + chunk("IEND", [])
  }

  /// A band's first row as it is, the others as "what is above".
  private static func pixels(_ bands: [Band]) -> [UInt8] {
    var deflate = Deflate()
    for band in bands where band.rowCount > 0 {
      let row = row(band.pixels)
      deflate.add([0] + row)
      guard band.rowCount > 1 else { continue }
      let same = [2] + [UInt8](repeating: 0, count: row.count)
      deflate.add(same)
      deflate.repeatLast(same, times: band.rowCount - 2)
    }
    return deflate.finish()
  }

  /// Four pixels to a byte, the left one in its highest bits.
  private static func row(_ pixels: [UInt8]) -> [UInt8] {
    stride(from: 0, to: pixels.count, by: 4).map { start in
      (0..<4).reduce(0) { byte, index in
        byte << 2 | (start + index < pixels.count ? pixels[start + index] & 3 : 0)
      }
    }
  }

  private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    let checked = Array(type.utf8) + data
    return word(UInt32(data.count)) + checked + word(checksum(checked))
  }

  private static func word(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32($0))) }
  }

  /// CRC-32 of ISO 3309.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    var sum = UInt32.max
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1) * 0xEDB8_8320 }
    }
    return ~sum
  }
}
