internal import CLibpq

/// One session with PostgreSQL. Its calls block the calling thread, so they belong on threads of ours, never on Swift's
/// cooperative pool; one thread at a time uses a connection. No call waits for ever: see `PostgresConfiguration`.
package final class PostgresConnection {
  package let configuration: PostgresConfiguration
  /// Nil after the connection ended.
  private var session: Session?
  /// The names of the statements that this session has prepared, by type (or text).
  var prepared: [PreparedKey: String] = [:]
  private var lastStatementNumber = 0

  /// Connects; throws `.cannotConnect`, `.authenticationFailed` or `.invalidConfiguration`.
  package init(_ configuration: PostgresConfiguration) throws(PostgresError) {
    self.configuration = configuration
    session = try Session.connect(configuration)
  }

  /// Ends the session; an open transaction is rolled back by the server. Calling it again does nothing.
  package func close() {
    session = nil
    prepared = [:]
  }

  /// Ends the session and makes a new one with the same configuration.
  package func reconnect() throws(PostgresError) {
    close()
    session = try Session.connect(configuration)
  }

  /// False once the connection was closed or lost; then only `reconnect` helps.
  package var isUsable: Bool {
    guard let session else { return false }
    return unsafe PQstatus(session.handle) == CONNECTION_OK
  }

  /// The server process of this session; 0 when not connected.
  var backendProcess: Int32 { session.map { unsafe PQbackendPID($0.handle) } ?? 0 }

  /// True between BEGIN and the end of the transaction, also when it has failed.
  package var isInTransaction: Bool {
    guard let session else { return false }
    let status = unsafe PQtransactionStatus(session.handle)
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
  }

  /// Runs `statement` and reads its rows.
  package func run<Statement: PostgresStatement>(_ statement: Statement) throws(PostgresError) -> [Statement.Row] {
    var statements = StatementBatch()
    let ticket = statements.send(statement)
    return try run(statements).rows(ticket)
  }

  /// Runs `statement` and returns how many rows it changed (or gave).
  @discardableResult
  package func execute(_ statement: some PostgresStatement) throws(PostgresError) -> Int {
    var statements = StatementBatch()
    let ticket = statements.send(statement)
    return try run(statements).affectedRows(ticket)
  }

  /// Runs one statement that is used rarely, without preparing it, and returns its rows.
  package func query(
    _ sql: String, _ parameters: [any PostgresValue] = []
  ) throws(PostgresError) -> [PostgresRow] {
    var statements = StatementBatch()
    let index = statements.send(sql: sql, parameters)
    return try run(statements).rows(at: index)
  }

  /// Runs one statement that is used rarely and returns how many rows it changed.
  @discardableResult
  package func execute(sql: String, _ parameters: [any PostgresValue] = []) throws(PostgresError) -> Int {
    var statements = StatementBatch()
    let index = statements.send(sql: sql, parameters)
    return try run(statements).affectedRows(at: index)
  }

  /// Runs a text of several statements, for migrations. Without BEGIN in it (or before it) all are one transaction.
  /// `silenceLimitMilliseconds` bounds how long nothing is heard from the server.
  package func executeScript(_ sql: String, silenceLimitMilliseconds: Int? = nil) throws(PostgresError) {
    guard !sql.utf8.contains(0) else { throw PostgresError(.misuse, "the script has a NUL character") }
    try withSession { session throws(PostgresError) in
      let usual = session.silenceLimitMilliseconds
      if let silenceLimitMilliseconds { session.silenceLimitMilliseconds = silenceLimitMilliseconds }
      defer { session.silenceLimitMilliseconds = usual }
      guard unsafe PQsendQuery(session.handle, sql) == 1 else { throw session.lost() }
      try session.finishSimple()
    }
  }

  /// From now on the server may be silent for as long as a statement takes, and a little longer.
  func waitForStatements(milliseconds: Int) {
    session?.silenceLimitMilliseconds = milliseconds + configuration.silenceGraceMilliseconds
  }

  /// Calls `body` with the session; a session that was lost in it is let go.
  func withSession<Result>(
    _ body: (Session) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    guard let session else {
      throw PostgresError(.connectionLost(commitUnknown: false), "the connection is closed")
    }
    do {
      return try body(session)
    } catch {
      if error.isConnectionLost { close() }
      throw error
    }
  }

  /// A name for the next statement to be prepared.
  func nextStatementName() -> String {
    lastStatementNumber += 1
    return "handbill_\(lastStatementNumber)"
  }
}

/// What a prepared statement is remembered by.
enum PreparedKey: Hashable {
  case type(ObjectIdentifier)
  case text(String)
}
