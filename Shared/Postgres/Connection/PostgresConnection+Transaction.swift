extension PostgresConnection {
  /// Begins a transaction. To save the round trip, `begin()` of a ``StatementBatch`` does it together with statements.
  package func begin() throws(PostgresError) {
    try batch { $0.begin() }
  }

  /// Commits. When the connection is lost meanwhile, the error's kind is `.connectionLost(commitUnknown: true)`; when a
  /// statement of the transaction had failed, it is `.rolledBack`.
  package func commit() throws(PostgresError) {
    try batch { $0.commit() }
  }

  /// Rolls back. On a lost connection it does nothing: the server has rolled back itself.
  package func rollback() throws(PostgresError) {
    guard isUsable, isInTransaction else { return }
    try batch { $0.rollback() }
  }

  /// Runs `body` in a transaction and commits; any error rolls back and is thrown on.
  package func transaction<Result>(
    _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    try begin()
    let result: Result
    do {
      result = try body(self)
    } catch {
      // A failing rollback leaves a lost connection, and the first error says more.
      do { try rollback() } catch { close() }
      throw error
    }
    try commit()
    return result
  }
}
