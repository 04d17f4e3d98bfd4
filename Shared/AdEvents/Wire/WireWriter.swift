package import AdBasics

/// Writes the protobuf wire format by appending to an array: fields in ascending order, proto3's defaults left out. So
/// equal values give equal bytes, and a writer that is kept allocates nothing.
package struct WireWriter {
  /// What has been written so far.
  package var output: [UInt8]

  /// Goes on after `output`, which is usually empty, with capacity.
  package init(output: [UInt8] = []) { self.output = output }

  /// `uint64`, `uint32` or an enum; 0 is left out.
  package mutating func unsigned(_ field: UInt32, _ value: UInt64) {
    if value != 0 { presentUnsigned(field, value) }
  }

  /// A member of a oneof: written even when it is 0.
  package mutating func presentUnsigned(_ field: UInt32, _ value: UInt64) {
    tag(field, .varint)
    varint(value)
  }

  /// `int64` or `int32`; 0 is left out.
  package mutating func signed(_ field: UInt32, _ value: Int64) { unsigned(field, UInt64(bitPattern: value)) }

  /// `sint64` or `sint32`; 0 is left out.
  package mutating func zigzag(_ field: UInt32, _ value: Int64) {
    unsigned(field, UInt64(bitPattern: value << 1 ^ value >> 63))
  }

  /// `bool`; false is left out.
  package mutating func bool(_ field: UInt32, _ value: Bool) { unsigned(field, value ? 1 : 0) }

  /// `fixed64`; 0 is left out, except where it `isPresent` all the same.
  package mutating func fixed64(_ field: UInt32, _ value: UInt64, isPresent: Bool = false) {
    guard isPresent || value != 0 else { return }
    tag(field, .fixed64)
    withUnsafeBytes(of: value.littleEndian) { output.append(contentsOf: $0) }
  }

  /// `bytes`; empty is left out.
  package mutating func bytes(_ field: UInt32, _ value: [UInt8]) {
    if !value.isEmpty { presentBytes(field, value) }
  }

  /// `bytes` in a oneof or a repeated field: written even when empty.
  package mutating func presentBytes(_ field: UInt32, _ value: [UInt8]) {
    tag(field, .bytes)
    varint(UInt64(value.count))
    output.append(contentsOf: value)
  }

  /// `string`; empty is left out.
  package mutating func text(_ field: UInt32, _ value: String) {
    if !value.utf8.isEmpty { presentText(field, value) }
  }

  /// `string`, from a text that is never empty.
  package mutating func text(_ field: UInt32, _ value: some InlineText) {
    value.withBytes { bytes in
      tag(field, .bytes)
      varint(UInt64(bytes.count))
      output.append(contentsOf: bytes)
    }
  }

  /// `string` in a repeated field: written even when empty.
  package mutating func presentText(_ field: UInt32, _ value: String) {
    tag(field, .bytes)
    varint(UInt64(value.utf8.count))
    output.append(contentsOf: value.utf8)
  }

  /// A UUID as its 16 bytes.
  package mutating func uuid(_ field: UInt32, high: UInt64, low: UInt64) {
    tag(field, .bytes)
    output.append(16)
    withUnsafeBytes(of: high.bigEndian) { output.append(contentsOf: $0) }
    withUnsafeBytes(of: low.bigEndian) { output.append(contentsOf: $0) }
  }

  /// A message, which `content` writes. The length is filled in afterwards; it takes one byte up to 127.
  @inline(__always)
  package mutating func message(_ field: UInt32, _ content: (inout WireWriter) -> Void) {
    tag(field, .bytes)
    let lengthPosition = output.count
    output.append(0)
    content(&self)
    let length = output.count - lengthPosition - 1
    if length < 0x80 {
      output[lengthPosition] = UInt8(length)
    } else {
      insertLength(length, at: lengthPosition)
    }
  }

  /// Makes room for a length of several bytes where one byte was left for it.
  private mutating func insertLength(_ length: Int, at position: Int) {
    let byteCount = (UInt64(length).bitWidth - length.leadingZeroBitCount + 6) / 7
    output.append(contentsOf: repeatElement(0, count: byteCount - 1))
    output.withUnsafeMutableBytes { bytes in
      let content = UnsafeRawBufferPointer(rebasing: bytes[position + 1..<position + 1 + length])
      UnsafeMutableRawBufferPointer(rebasing: bytes[(position + byteCount)...]).copyMemory(from: content)
      for index in 0..<byteCount {
        let hasMore: UInt8 = index < byteCount - 1 ? 0x80 : 0
        bytes[position + index] = UInt8(length >> (7 * index) & 0x7F) | hasMore
      }
    }
  }

  @inline(__always)
  private mutating func tag(_ field: UInt32, _ type: WireReader.WireType) {
    varint(UInt64(field) << 3 | UInt64(type.rawValue))
  }

  @inline(__always)
  package mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    output.append(UInt8(truncatingIfNeeded: rest))
  }
}
