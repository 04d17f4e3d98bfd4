extension [UInt8] {
  /// Appends `value` in network byte order.
  mutating func appendBigEndian(_ value: some FixedWidthInteger) {
    unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe append(contentsOf: $0) }
  }

  /// Appends what an array begins with, before its elements.
  mutating func appendListHeader(count: Int, elementType: UInt32) {
    appendBigEndian(Int32(count == 0 ? 0 : 1))  // dimensions
    appendBigEndian(Int32(0))  // whether there are NULLs; the server looks by itself
    appendBigEndian(elementType)
    guard count > 0 else { return }
    appendBigEndian(Int32(truncatingIfNeeded: count))
    appendBigEndian(Int32(1))  // lower bound
  }

  /// Replaces the four bytes at `index` by `value`, in network byte order.
  mutating func replaceBigEndian(at index: Int, _ value: Int32) {
    let bits = UInt32(bitPattern: value)
    self[index] = UInt8(truncatingIfNeeded: bits >> 24)
    self[index + 1] = UInt8(truncatingIfNeeded: bits >> 16)
    self[index + 2] = UInt8(truncatingIfNeeded: bits >> 8)
    self[index + 3] = UInt8(truncatingIfNeeded: bits)
  }
}

extension UnsafeRawBufferPointer {
  /// The first bytes as a number in network byte order. The caller has checked the count.
  func bigEndian<Number: FixedWidthInteger>(at offset: Int = 0, as type: Number.Type = Number.self) -> Number {
    unsafe Number(bigEndian: loadUnaligned(fromByteOffset: offset, as: Number.self))
  }
}

/// Reads on through bytes and never past their end.
@safe struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = unsafe bytes }

  var remaining: Int { unsafe bytes.count - offset }

  /// The next two bytes as a number; nil at the end.
  mutating func int16() -> Int16? {
    guard remaining >= 2 else { return nil }
    defer { offset += 2 }
    return unsafe bytes.bigEndian(at: offset)
  }

  /// The next four bytes as a number; nil at the end.
  mutating func int32() -> Int32? {
    guard remaining >= 4 else { return nil }
    defer { offset += 4 }
    return unsafe bytes.bigEndian(at: offset)
  }

  /// The next `count` bytes; nil when there are fewer.
  mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, remaining >= count else { return nil }
    defer { offset += count }
    return unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
  }
}
