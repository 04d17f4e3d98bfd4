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
      var rest = stored.rows.sorted(by: stored.isBefore)[...]
      while let first = rest.first {
        let common = stored.fields(form.commonCount, of: first)
        let alike = rest.prefix { stored.begins($0, as: common) }
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
