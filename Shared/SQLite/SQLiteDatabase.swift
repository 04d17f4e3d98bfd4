internal import CSQLite

/// One connection with a database in a file, or in memory; for one thread at a time. Nobody else can open the file
/// meanwhile. What was committed survives the process, however that ends.
@safe package final class SQLiteDatabase {
  private let connection: OpaquePointer
  /// Statements are compiled once each.
  private var statements: [String: OpaquePointer] = unsafe [:]

  /// Opens the file, or makes it; nil is a database in memory.
  package init(path: String?) throws(SQLiteError) {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    let code = unsafe sqlite3_open_v2(path ?? ":memory:", &opened, flags, nil)
    guard code == SQLITE_OK, let opened = unsafe opened else {
      defer { unsafe sqlite3_close_v2(opened) }
      throw unsafe SQLiteError(code: code, message: String(cString: sqlite3_errstr(code)))
    }
    unsafe connection = opened
    // A second process would send the same events again: it gets no lock.
    for setting in ["locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL"] {
      try run("PRAGMA \(setting)")
    }
  }

  deinit {
    while let statement = unsafe statements.popFirst() { unsafe sqlite3_finalize(statement.value) }
    unsafe sqlite3_close_v2(connection)
  }

  /// Runs one statement with its parameters, `?1` and so on.
  ///
  /// - Parameter sql: One of the program's own texts: it is compiled once and kept.
  /// - Returns: The rows, whole.
  @discardableResult
  package func run(_ sql: String, _ parameters: SQLiteValue...) throws(SQLiteError) -> [[SQLiteValue]] {
    try run(sql, parameters)
  }

  @discardableResult
  package func run(_ sql: String, _ parameters: [SQLiteValue]) throws(SQLiteError) -> [[SQLiteValue]] {
    let statement = try unsafe compiled(sql)
    defer {
      unsafe sqlite3_reset(statement)
      unsafe sqlite3_clear_bindings(statement)
    }
    for (index, parameter) in parameters.enumerated() {
      try unsafe bind(parameter, at: Int32(index + 1), statement)
    }
    var rows: [[SQLiteValue]] = []
    while true {
      switch unsafe sqlite3_step(statement) {
      case SQLITE_ROW: unsafe rows.append(SQLiteDatabase.row(statement))
      case SQLITE_DONE: return rows
      default: throw lastError
      }
    }
  }

  /// The number of the row that was inserted last.
  package var lastRow: Int64 { unsafe sqlite3_last_insert_rowid(connection) }

  private func compiled(_ sql: String) throws(SQLiteError) -> OpaquePointer {
    if let statement = unsafe statements[sql] { return unsafe statement }
    var made: OpaquePointer?
    guard unsafe sqlite3_prepare_v2(connection, sql, -1, &made, nil) == SQLITE_OK, let statement = unsafe made else {
      throw lastError
    }
    unsafe statements[sql] = unsafe statement
    return unsafe statement
  }

  private func bind(_ value: SQLiteValue, at index: Int32, _ statement: OpaquePointer) throws(SQLiteError) {
    let code =
      switch value {
      case .null: unsafe sqlite3_bind_null(statement, index)
      case .integer(let value): unsafe sqlite3_bind_int64(statement, index, value)
      case .text(let value): unsafe handbill_bind_text(statement, index, value)
      case .blob(let value):
        unsafe value.isEmpty
          ? sqlite3_bind_zeroblob(statement, index, 0)
          : handbill_bind_blob(statement, index, value, Int32(value.count))
      }
    guard code == SQLITE_OK else { throw lastError }
  }

  private static func row(_ statement: OpaquePointer) -> [SQLiteValue] {
    (0..<(unsafe sqlite3_column_count(statement))).map { column in
      switch unsafe sqlite3_column_type(statement, column) {
      case SQLITE_INTEGER: return .integer(unsafe sqlite3_column_int64(statement, column))
      case SQLITE_TEXT:
        guard let text = unsafe sqlite3_column_text(statement, column) else { return .null }
        return .text(unsafe String(cString: text))
      case SQLITE_BLOB:
        let count = Int(unsafe sqlite3_column_bytes(statement, column))
        guard let bytes = unsafe sqlite3_column_blob(statement, column) else { return .blob([]) }
        return .blob(unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: count)))
      default: return .null
      }
    }
  }

  private var lastError: SQLiteError {
    unsafe SQLiteError(
      code: sqlite3_extended_errcode(connection), message: String(cString: sqlite3_errmsg(connection)))
  }
}
