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
  ///
  /// - Parameter statementMilliseconds: how long each statement may take, where that is longer than usual.
  package func transaction<Result>(
    statementMilliseconds: Int? = nil, _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    try begin()
    let usual = configuration.statementTimeoutMilliseconds
    let isPatient = usual > 0 && statementMilliseconds ?? 0 > usual
    defer { if isPatient { waitForStatements(milliseconds: usual) } }
    let result: Result
    do {
      if isPatient, let statementMilliseconds {
        try execute(sql: "SET LOCAL statement_timeout = \(statementMilliseconds)")
        waitForStatements(milliseconds: statementMilliseconds)
      }
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
