internal import Glibc

/// Rows as they lie in a buffer, field after field: each its length, -1 for NULL, and its bytes. An array's elements lie
/// in the same way, so that they are copied as they are.
@safe struct StoredRows {
  /// Of the buffer, its header included.
  private let bytes: UnsafeRawBufferPointer
  /// Where each row has its fields, in the buffer's order.
  let rows: [Range<Int>]

  /// - Parameter start: where the first row begins.
  init(bytes: UnsafeRawBufferPointer, start: Int) {
    unsafe self.bytes = unsafe bytes
    var rows: [Range<Int>] = []
    var position = start
    while position < bytes.count {
      let count = unsafe Int(Int16(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: Int16.self)))
      let first = position + 2
      position = first
      for _ in 0..<count { position = unsafe Self.end(ofFieldAt: position, in: bytes) }
      rows.append(first..<position)
    }
    self.rows = rows
  }

  subscript(range: Range<Int>) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
  }

  /// Where the first fields of a row lie.
  func fields(_ count: Int, of row: Range<Int>) -> Range<Int> {
    row.lowerBound..<(0..<count).reduce(row.lowerBound) { position, _ in end(ofFieldAt: position) }
  }

  func end(ofFieldAt position: Int) -> Int { unsafe Self.end(ofFieldAt: position, in: bytes) }

  /// Whether a row's first fields are the same as these of another row.
  func begins(_ row: Range<Int>, as fields: Range<Int>) -> Bool {
    row.count >= fields.count && order(row.lowerBound, fields.lowerBound, count: fields.count) == 0
  }

  /// In an order by bytes: rows that begin alike are neighbours.
  func isBefore(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
    let order = order(one.lowerBound, other.lowerBound, count: min(one.count, other.count))
    return order < 0 || order == 0 && one.count < other.count
  }

  /// A row's fields as a statement's parameters.
  func parameters(of row: Range<Int>) -> EncodedParameters {
    var parameters = EncodedParameters(fieldCount: 16)
    var position = row.lowerBound
    while position < row.upperBound {
      let end = end(ofFieldAt: position)
      let isNull = unsafe bytes.loadUnaligned(fromByteOffset: position, as: Int32.self) == -1
      unsafe parameters.append(field: isNull ? nil : self[position + 4..<end])
      position = end
    }
    return parameters
  }

  /// Below 0 where the bytes at `one` come before those at `other`, 0 where they are the same.
  private func order(_ one: Int, _ other: Int, count: Int) -> Int32 {
    guard let start = unsafe bytes.baseAddress else { return 0 }
    return unsafe memcmp(start + one, start + other, count)
  }

  private static func end(ofFieldAt position: Int, in bytes: UnsafeRawBufferPointer) -> Int {
    let length = unsafe Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: Int32.self))
    return position + 4 + max(Int(length), 0)
  }
}
