internal import Glibc

/// A table whose rows each hold many rows of another one: what these have in common as it is, everything else in arrays.
///
/// A row of its own costs some 30 bytes besides what it says, and says again what its neighbours say. In arrays of like
/// values, which the server compresses, a count takes a tenth to a twentieth of that.
package struct PackedColumns: Sendable {
  let table: String
  let names: [String]
  /// So many columns hold what the packed rows have in common: the first ones.
  let commonCount: Int
  /// The type of each array's elements, as ``PostgresType`` has them.
  let elementTypes: [UInt32]

  /// - Parameters:
  ///   - table: `name` or `schema.name`.
  ///   - names: the columns, in the order of those of the packed rows: first what these have in common, then the arrays.
  ///   - elementTypes: of the arrays, one after the other; the columns before them are in common.
  package init(_ table: String, _ names: [String], elementTypes: [UInt32]) {
    self.table = table
    self.names = names
    commonCount = names.count - elementTypes.count
    self.elementTypes = elementTypes
  }
}

extension TableRows {
  /// The same rows for the table that holds many in one, where there is one; else themselves. Like stands beside like.
  package func packed() -> TableRows {
    guard let form = columns.packed else { return self }
    let packed = TableRows(TableColumns(form.table, form.names), capacity: buffer.byteCount)
    buffer.withStoredRows { stored in
      var rest = stored.inOrder()[...]
      while let first = rest.first {
        let common = stored.fields(form.commonCount, of: first)
        let alike = rest.prefix { stored.fields($0.lowerBound..<$0.lowerBound + common.count, areAs: common) }
        rest = rest.dropFirst(alike.count)
        packed.begin()
        unsafe packed.buffer.append(fields: stored[common])
        var next = alike.map { $0.lowerBound + common.count }
        for type in form.elementTypes {
          packed.buffer.append(fieldsOf: stored, at: &next, elementType: type)
        }
      }
    }
    return packed
  }
}

/// Rows as they lie in a buffer, field after field: each its length, -1 for NULL, and its bytes. An array's elements lie
/// in the same way, so that they are copied as they are.
@safe struct StoredRows {
  /// Of the buffer, its header included.
  fileprivate let bytes: UnsafeRawBufferPointer
  /// Where the first row begins.
  fileprivate let start: Int

  init(bytes: UnsafeRawBufferPointer, start: Int) {
    unsafe self.bytes = unsafe bytes
    self.start = start
  }

  /// Where each row has its fields, in the order of their bytes.
  fileprivate func inOrder() -> [Range<Int>] {
    var rows: [Range<Int>] = []
    var position = start
    while unsafe position < bytes.count {
      let count = unsafe Int(Int16(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: Int16.self)))
      let first = position + 2
      position = first
      for _ in 0..<count { position = end(ofFieldAt: position) }
      rows.append(first..<position)
    }
    rows.sort(by: isBefore)
    return rows
  }

  fileprivate subscript(range: Range<Int>) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
  }

  /// Where the first fields of a row lie.
  fileprivate func fields(_ count: Int, of row: Range<Int>) -> Range<Int> {
    row.lowerBound..<(0..<count).reduce(row.lowerBound) { position, _ in end(ofFieldAt: position) }
  }

  fileprivate func fields(_ one: Range<Int>, areAs other: Range<Int>) -> Bool {
    unsafe one.upperBound <= bytes.count && order(one.lowerBound, other.lowerBound, count: other.count) == 0
  }

  fileprivate func end(ofFieldAt position: Int) -> Int {
    let length = unsafe Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: Int32.self))
    return position + 4 + max(Int(length), 0)
  }

  private func isBefore(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
    let order = order(one.lowerBound, other.lowerBound, count: min(one.count, other.count))
    return order < 0 || order == 0 && one.count < other.count
  }

  /// Below 0 where the bytes at `one` come before those at `other`, 0 where they are the same.
  private func order(_ one: Int, _ other: Int, count: Int) -> Int32 {
    guard let start = unsafe bytes.baseAddress else { return 0 }
    return unsafe memcmp(start + one, start + other, count)
  }
}

extension CopyBuffer {
  /// Appends an array of the fields at these positions, which then stand at the fields behind them.
  fileprivate func append(fieldsOf stored: StoredRows, at positions: inout [Int], elementType: UInt32) {
    let ends = positions.map { stored.end(ofFieldAt: $0) }
    let elements = zip(positions, ends)
    var header: [UInt8] = []
    header.appendListHeader(count: positions.count, elementType: elementType)
    append(length: header.count + elements.reduce(0) { $0 + $1.1 - $1.0 })
    unsafe header.withUnsafeBytes { unsafe append(fields: $0) }
    for (start, end) in elements { unsafe append(fields: stored[start..<end]) }
    positions = ends
  }
}
