internal import AdBasics

/// Reads the protobuf wire format in place: nothing is copied, nothing is read past the end, and fields that nobody
/// knows are stepped over. Every message's decoder is one loop over ``next()``.
///
/// It is stricter than the format allows where a proper encoder never goes: a known field with another wire type, and
/// a varint of more than 64 bits, are `malformed`.
package struct WireReader {
  /// How a field's value is written.
  package enum WireType: UInt8 {
    case varint = 0
    case fixed64 = 1
    case bytes = 2
    case groupStart = 3
    case groupEnd = 4
    case fixed32 = 5
  }

  private let buffer: UnsafeRawBufferPointer
  private var position = 0
  /// The number of the current field.
  private(set) package var field: UInt32 = 0
  /// How the current field is written.
  private(set) package var wireType = WireType.varint

  package init(_ buffer: UnsafeRawBufferPointer) { self.buffer = buffer }

  /// Goes to the next field; false at the end. The field must then be read or skipped.
  @inline(__always)
  package mutating func next() throws(Rejection) -> Bool {
    guard position < buffer.count else { return false }
    let tag = try varint()
    guard tag <= UInt64(UInt32.max), tag >= 8, let type = WireType(rawValue: UInt8(tag & 7)) else {
      throw Rejection(.malformed, "a field's tag is invalid")
    }
    field = UInt32(tag >> 3)
    wireType = type
    return true
  }

  /// The current field's varint.
  @inline(__always)
  package mutating func unsigned() throws(Rejection) -> UInt64 {
    try expect(.varint)
    return try varint()
  }

  /// The current field's `int64` or `int32`.
  package mutating func signed() throws(Rejection) -> Int64 { Int64(bitPattern: try unsigned()) }

  /// The current field's `sint64` or `sint32`.
  package mutating func zigzag() throws(Rejection) -> Int64 {
    let value = try unsigned()
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  /// The current field's `bool`.
  package mutating func bool() throws(Rejection) -> Bool { try unsigned() != 0 }

  /// The current field's `fixed64`.
  package mutating func fixed64() throws(Rejection) -> UInt64 {
    try expect(.fixed64)
    guard buffer.count - position >= 8 else { throw Rejection.truncated }
    defer { position += 8 }
    return UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: position, as: UInt64.self))
  }

  /// The current field's string, bytes or message, in place: valid as long as the reader's buffer.
  @inline(__always)
  package mutating func bytes() throws(Rejection) -> UnsafeRawBufferPointer {
    try expect(.bytes)
    let length = try varint()
    guard length <= UInt64(buffer.count - position) else { throw Rejection.truncated }
    let start = position
    position += Int(length)
    return UnsafeRawBufferPointer(rebasing: buffer[start..<position])
  }

  /// The next number of a packed field, whose bytes this reader was made of; nil at the end.
  mutating func packedVarint() throws(Rejection) -> UInt64? {
    position < buffer.count ? try varint() : nil
  }

  /// Steps over the current field. Groups, which proto3 cannot write, are stepped over as well.
  package mutating func skip() throws(Rejection) {
    try skip(depth: 0)
  }

  private mutating func skip(depth: Int) throws(Rejection) {
    switch wireType {
    case .varint: _ = try varint()
    case .fixed64: try advance(8)
    case .fixed32: try advance(4)
    case .bytes: _ = try bytes()
    case .groupEnd: throw Rejection(.malformed, "a group ends that never began")
    case .groupStart:
      guard depth < FieldLimits.depthMaximum else { throw Rejection(.malformed, "groups nest too deeply") }
      let group = field
      while true {
        guard try next() else { throw Rejection.truncated }
        if wireType == .groupEnd { break }
        try skip(depth: depth + 1)
      }
      guard field == group else { throw Rejection(.malformed, "a group ends as another one") }
    }
  }

  private mutating func advance(_ count: Int) throws(Rejection) {
    guard buffer.count - position >= count else { throw Rejection.truncated }
    position += count
  }

  @inline(__always)
  private func expect(_ type: WireType) throws(Rejection) {
    guard wireType == type else { throw Rejection(.malformed, "field \(field) has another wire type than its own") }
  }

  @inline(__always)
  private mutating func varint() throws(Rejection) -> UInt64 {
    if position < buffer.count {
      let first = buffer[position]
      if first < 0x80 {
        position += 1
        return UInt64(first)
      }
    }
    return try longVarint()
  }

  private mutating func longVarint() throws(Rejection) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while position < buffer.count {
      let byte = buffer[position]
      position += 1
      if shift == 63, byte > 1 { throw Rejection(.malformed, "a varint has more than 64 bits") }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw Rejection.truncated
  }
}

extension Rejection {
  static var truncated: Rejection { Rejection(.malformed, "the message ends within a field") }
}
