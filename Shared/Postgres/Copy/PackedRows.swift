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
    var rows: [EncodedParameters] = []
    rows.reserveCapacity(count)
    buffer.forEachRow { rows.append($0) }
    rows.sort { $0.isBefore($1) }
    let packed = TableRows(TableColumns(form.table, form.names), capacity: buffer.byteCount)
    var rest = rows[...]
    while let first = rest.first {
      let alike = rest.prefix { row in (0..<form.commonCount).allSatisfy { row.field($0) == first.field($0) } }
      rest = rest.dropFirst(alike.count)
      packed.begin()
      for index in 0..<form.commonCount { packed.buffer.append(field: first.field(index)) }
      for (index, type) in form.elementTypes.enumerated() {
        packed.buffer.append(elements: alike.map { $0.field(form.commonCount + index) }, type: type)
      }
    }
    return packed
  }
}

extension CopyBuffer {
  /// Appends a field in its type's binary form; nil is NULL.
  fileprivate func append(field: ArraySlice<UInt8>?) {
    if let field { append(bytea: field) } else { null() }
  }

  /// Appends an array of elements in their type's binary form; nil is NULL.
  fileprivate func append(elements: [ArraySlice<UInt8>?], type: UInt32) {
    var bytes: [UInt8] = []
    bytes.appendListHeader(count: elements.count, elementType: type)
    for element in elements {
      bytes.appendBigEndian(element.map { Int32(truncatingIfNeeded: $0.count) } ?? -1)
      if let element { bytes.append(contentsOf: element) }
    }
    append(bytea: bytes)
  }
}
