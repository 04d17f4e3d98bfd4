internal import CLibpq

extension PostgresConnection {
  /// So much goes to libpq at once, then it is sent before more follows.
  private static let copyChunkBytes = 128 << 10

  /// Copies the rows into their table by `COPY … FROM STDIN (FORMAT binary)` and returns their number. The buffer is
  /// left as it is. An error of the server leaves the connection usable and, in a transaction, the transaction failed.
  /// Several may follow each other in one transaction; none in a statement batch.
  @discardableResult
  package func copy(_ rows: TableRows) throws(PostgresError) -> Int {
    guard !rows.buffer.isEmpty else { return 0 }
    let sql = rows.columns.copySQL
    guard !sql.utf8.contains(0) else { throw PostgresError(.misuse, "a name has a NUL character") }
    do {
      return try withSession { session throws(PostgresError) in
        guard unsafe PQsendQuery(session.handle, sql) == 1 else { throw session.lost() }
        try Self.beginCopy(session)
        try unsafe rows.buffer.withBytes { bytes throws(PostgresError) in try unsafe Self.stream(bytes, to: session) }
        guard let result = try session.finishSimple() else { throw session.lost() }
        return result.affectedRows
      }
    } catch {
      var error = error
      error.statement = "COPY \(rows.columns.table)"
      throw error
    }
  }

  private static func beginCopy(_ session: Session) throws(PostgresError) {
    guard let answer = try session.nextResult() else { throw session.lost() }
    if answer.status == PGRES_COPY_IN { return }
    let failure = session.check(answer) ?? PostgresError(.misuse, "the server did not begin a COPY")
    if !failure.isConnectionLost { while try session.nextResult() != nil {} }
    throw failure
  }

  /// Sends `bytes` and ends the COPY. Ends early, without an error, when the connection ended: the answer says why.
  private static func stream(_ bytes: UnsafeRawBufferPointer, to session: Session) throws(PostgresError) {
    var offset = 0
    while offset < bytes.count {
      let end = min(offset + copyChunkBytes, bytes.count)
      guard try unsafe put(UnsafeRawBufferPointer(rebasing: bytes[offset..<end]), session) else { return }
      offset = end
    }
    while true {
      let ended = unsafe PQputCopyEnd(session.handle, nil)
      if ended != 0 { break }
      try session.flush()
    }
  }

  /// Sends one piece; false when the connection ended.
  private static func put(_ bytes: UnsafeRawBufferPointer, _ session: Session) throws(PostgresError) -> Bool {
    let start = unsafe bytes.bindMemory(to: CChar.self).baseAddress
    while true {
      switch unsafe PQputCopyData(session.handle, start, Int32(truncatingIfNeeded: bytes.count)) {
      case 1:
        try session.flush()
        return true
      case 0: try session.flush()
      default: return false
      }
    }
  }

  /// `name` as an identifier of SQL.
  static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }
}
