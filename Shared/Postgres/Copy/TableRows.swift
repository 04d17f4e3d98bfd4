/// Columns of a table that get rows, and the SQL for it; made once.
package struct TableColumns: Sendable {
  /// `name` or `schema.name`.
  let table: String
  let count: Int16
  /// Whether its first column is `serve_id`.
  let isKeyedByServe: Bool
  /// Whether it tells of each row which batch wrote it, too.
  let hasBatches: Bool
  let copySQL: String
  let insertSQL: String
  /// Where many of its rows may lie in one.
  let packed: PackedColumns?

  /// - Parameter table: `name` or `schema.name`.
  package init(_ table: String, _ columns: [String], packed: PackedColumns? = nil) {
    self.table = table
    self.packed = packed
    count = Int16(clamping: columns.count)
    isKeyedByServe = columns.first == "serve_id"
    hasBatches = columns.contains("batch_number")
    let path = table.split(separator: ".").map { PostgresConnection.quoted(String($0)) }.joined(separator: ".")
    let target = "\(path) (\(columns.map(PostgresConnection.quoted).joined(separator: ", ")))"
    copySQL = "COPY \(target) FROM STDIN (FORMAT binary)"
    insertSQL = "INSERT INTO \(target) VALUES (\(columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")))"
  }
}

/// Rows for one table, encoded once and sent in the way that suits their number: many by `PostgresConnection.copy(_:)`,
/// few by `StatementBatch.insert(_:)`, which costs no round trip of its own.
package struct TableRows {
  package let columns: TableColumns
  package let buffer: CopyBuffer

  /// - Parameter capacity: bytes that the rows are likely to need.
  package init(_ columns: TableColumns, capacity: Int) {
    self.columns = columns
    buffer = CopyBuffer(capacity: capacity)
  }

  package var count: Int { buffer.rowCount }

  /// Brings rows that begin with a serve id into its order, which is that of their table's key; others stay as they are.
  package func sortByServe() {
    if columns.isKeyedByServe { buffer.sortByFirstUUID() }
  }

  /// The rows of each table together.
  ///
  /// - Parameter rows: of the same tables in the same order each; what is joined is moved into the first.
  package static func joined(_ rows: [[TableRows]]) -> [TableRows] {
    guard var joined = rows.first else { return [] }
    for more in rows.dropFirst() {
      // A table that one of them leaves out is told by its name.
      for table in more {
        if let index = joined.firstIndex(where: { $0.columns.table == table.columns.table }) {
          joined[index].buffer.append(contentsOf: table.buffer)
        } else {
          joined.append(table)
        }
      }
    }
    return joined
  }

  /// Begins the next row: its fields are appended to `buffer`, one for each column.
  package func begin() { buffer.beginRow(columnCount: columns.count) }
}

extension StatementBatch {
  /// Adds a prepared INSERT for each row. Their parameters are the fields of COPY: both are the types' binary form.
  package mutating func insert(_ rows: TableRows) {
    let columns = rows.columns
    rows.buffer.withStoredRows { stored in
      for row in stored.rows {
        append(.text(columns.insertSQL), columns.insertSQL, "INSERT INTO \(columns.table)", stored.parameters(of: row))
      }
    }
  }
}

extension [TableRows] {
  /// Tells the serve id of each row that begins with one and names its batch; of a row of many, from its first one to its
  /// last one.
  package func forEachServe(_ body: (ClosedRange<PostgresUUID>) -> Void) {
    for rows in self where rows.columns.isKeyedByServe && rows.columns.hasBatches { rows.buffer.forEachFirstUUID(body) }
  }
}
