internal import CLibpq

/// One row of an answer, in PostgreSQL's binary format.
package struct PostgresRow {
  let result: PostgresResult
  let index: Int

  package var columnCount: Int { result.columnCount }

  /// The value of `column` (from 0) as `Value`; a NULL is an error unless `Value` is an optional.
  package func decode<Value: PostgresValue>(
    _ column: Int, _ type: Value.Type = Value.self
  ) throws(PostgresError) -> Value {
    guard column >= 0, column < result.columnCount else {
      throw .undecodable(column: column, "the answer has \(result.columnCount) columns")
    }
    return try Value.decode(result.field(row: index, column: column))
  }
}

/// One field of an answer. Its bytes are valid while it is being decoded, no longer.
@safe package struct PostgresField {
  /// Nil for NULL.
  package let bytes: UnsafeRawBufferPointer?
  /// The object id of the column's type.
  package let type: UInt32
  package let column: Int

  package init(bytes: UnsafeRawBufferPointer?, type: UInt32, column: Int) {
    unsafe self.bytes = unsafe bytes
    self.type = type
    self.column = column
  }

  /// The bytes of a value that must be there.
  package func required() throws(PostgresError) -> UnsafeRawBufferPointer {
    guard let bytes = unsafe bytes else { throw .undecodable(column: column, "the value is NULL") }
    return unsafe bytes
  }

  /// The bytes, if the column has one of `types` and the value `count` bytes.
  package func required(types: UInt32..., count: Int? = nil) throws(PostgresError) -> UnsafeRawBufferPointer {
    let bytes = try unsafe required()
    guard types.contains(type) else {
      throw .undecodable(column: column, "the column's type \(type) is not one of \(types)")
    }
    guard count == nil || bytes.count == count else {
      throw .undecodable(column: column, "the value has \(bytes.count) bytes")
    }
    return unsafe bytes
  }
}

/// Owns one answer of libpq.
@safe final class PostgresResult {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) { unsafe self.handle = unsafe handle }
  deinit { unsafe PQclear(handle) }

  var status: ExecStatusType { unsafe PQresultStatus(handle) }
  var rowCount: Int { unsafe Int(PQntuples(handle)) }
  var columnCount: Int { unsafe Int(PQnfields(handle)) }
  /// The command's tag, such as `COMMIT` or `INSERT 0 3`.
  var commandTag: String { unsafe PQcmdStatus(handle).map { unsafe String(cString: $0) } ?? "" }
  /// How many rows the command changed, copied or gave; 0 for others.
  var affectedRows: Int { unsafe PQcmdTuples(handle).flatMap { unsafe Int(String(cString: $0)) } ?? 0 }

  func field(row: Int, column: Int) -> PostgresField {
    let row = Int32(row)
    let number = Int32(column)
    let type = unsafe PQftype(handle, number)
    guard unsafe PQgetisnull(handle, row, number) == 0, let start = unsafe PQgetvalue(handle, row, number) else {
      return unsafe PostgresField(bytes: nil, type: type, column: column)
    }
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(handle, row, number)))
    return unsafe PostgresField(bytes: bytes, type: type, column: column)
  }

  /// The rows, each read by `decode`.
  func rows<Row>(_ decode: (PostgresRow) throws(PostgresError) -> Row) throws(PostgresError) -> [Row] {
    var rows: [Row] = []
    rows.reserveCapacity(rowCount)
    for index in 0..<rowCount { rows.append(try decode(PostgresRow(result: self, index: index))) }
    return rows
  }

  private func diagnostic(_ letter: Unicode.Scalar) -> String? {
    unsafe PQresultErrorField(handle, Int32(letter.value)).map { unsafe String(cString: $0) }
  }

  /// The error this answer is. The letters are the protocol's names of the fields.
  func error() -> PostgresError {
    let fallback = unsafe PQresultErrorMessage(handle).map { unsafe String(cString: $0) } ?? ""
    let severity = diagnostic("V")
    let isFatal = severity == "FATAL" || severity == "PANIC"
    var error = PostgresError(
      isFatal ? .connectionLost(commitUnknown: false) : .server,
      diagnostic("M") ?? oneLine(fallback), sqlState: diagnostic("C"), hint: diagnostic("H"))
    error.severity = severity
    if error.isMissingRight, error.hint == nil { error.hint = PostgresError.rightsHint }
    error.detail = diagnostic("D")
    error.constraint = diagnostic("n")
    error.schema = diagnostic("s")
    error.table = diagnostic("t")
    error.column = diagnostic("c")
    return error
  }
}

/// libpq's messages end with a line break and may have several lines.
func oneLine(_ text: String) -> String {
  text.split(whereSeparator: \.isNewline).map { $0.drop { $0 == "\t" || $0 == " " } }.joined(separator: " ")
}
