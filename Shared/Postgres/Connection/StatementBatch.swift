/// Statements that travel together: sent without waiting for each other's answers, so that all cost one round trip.
///
/// Without BEGIN they are one transaction of their own. After a failed one, the server skips the rest.
package struct StatementBatch {
  /// The most statements of one batch.
  package static let maximumStatements = 100_000

  struct Entry {
    /// Nil for statements that are not prepared.
    let key: PreparedKey?
    let sql: String
    let parameters: EncodedParameters
    /// What errors call it.
    let name: String?
    let isCommit: Bool
  }

  private(set) var entries: [Entry] = []
  /// The first thing that made the batch impossible; thrown when it is run.
  private(set) var failure: PostgresError?

  package init() {}

  /// Adds a statement; the ticket finds its answer.
  @discardableResult
  package mutating func send<Statement: PostgresStatement>(_ statement: Statement) -> PostgresTicket<Statement> {
    let key = Statement.isPrepared ? PreparedKey.type(ObjectIdentifier(Statement.self)) : nil
    return PostgresTicket(
      index: append(key, Statement.sql, statement.parameters, "\(Statement.self)"))
  }

  /// Adds a statement that is used often, prepared and remembered by its text; returns its index. The texts are few:
  /// each stays prepared as long as the session.
  @discardableResult
  package mutating func send(prepared sql: String, _ parameters: [any PostgresValue]) -> Int {
    append(.text(sql), sql, parameters, nil)
  }

  /// Adds a statement that is not prepared; returns its index. It is used rarely, or planned for its parameters
  /// (``PostgresStatement/isPrepared``).
  @discardableResult
  package mutating func send(sql: String, _ parameters: [any PostgresValue] = []) -> Int {
    append(nil, sql, parameters, nil)
  }

  /// Adds BEGIN.
  package mutating func begin() { append(nil, "BEGIN", [], "BEGIN") }

  /// Adds COMMIT, as the last statement. When a statement of this batch fails, the transaction is rolled back.
  package mutating func commit() { append(nil, "COMMIT", [], "COMMIT", isCommit: true) }

  /// Adds ROLLBACK.
  package mutating func rollback() { append(nil, "ROLLBACK", [], "ROLLBACK") }

  var hasCommit: Bool { entries.last?.isCommit ?? false }

  @discardableResult
  private mutating func append(
    _ key: PreparedKey?, _ sql: String, _ parameters: [any PostgresValue], _ name: String?, isCommit: Bool = false
  ) -> Int {
    let index = entries.count
    guard failure == nil else { return index }
    do throws(PostgresError) {
      return append(key, sql, name, try EncodedParameters(parameters), isCommit: isCommit)
    } catch {
      fail(error, name)
      return index
    }
  }

  /// Adds a statement whose parameters are encoded already.
  @discardableResult
  mutating func append(
    _ key: PreparedKey?, _ sql: String, _ name: String?, _ parameters: EncodedParameters, isCommit: Bool = false
  ) -> Int {
    let index = entries.count
    guard failure == nil else { return index }
    if index >= Self.maximumStatements {
      fail(PostgresError(.misuse, "a statement batch has at most \(Self.maximumStatements) statements"), name)
    } else if hasCommit {
      fail(PostgresError(.misuse, "COMMIT is the last statement of its batch"), name)
    } else if sql.utf8.contains(0) {
      fail(PostgresError(.misuse, "the statement has a NUL character"), name)
    } else {
      entries.append(Entry(key: key, sql: sql, parameters: parameters, name: name, isCommit: isCommit))
    }
    return index
  }

  private mutating func fail(_ error: PostgresError, _ name: String?) {
    failure = error
    failure?.statementIndex = entries.count
    failure?.statement = name
  }
}

/// Where a statement's answer lies in the results of its batch.
package struct PostgresTicket<Statement: PostgresStatement>: Sendable {
  package let index: Int
}

/// The answers to a statement batch, in its order.
package struct StatementBatchResults {
  let results: [PostgresResult]

  var count: Int { results.count }

  /// The rows of the statement that `ticket` was given for.
  package func rows<Statement: PostgresStatement>(
    _ ticket: PostgresTicket<Statement>
  ) throws(PostgresError) -> [Statement.Row] {
    try result(ticket.index).rows { row throws(PostgresError) in try Statement.decode(row) }
  }

  /// How many rows the statement that `ticket` was given for changed (or gave).
  package func affectedRows<Statement>(_ ticket: PostgresTicket<Statement>) throws(PostgresError) -> Int {
    try result(ticket.index).affectedRows
  }

  /// The rows of the statement at `index`.
  package func rows(at index: Int) throws(PostgresError) -> [PostgresRow] {
    try result(index).rows { row throws(PostgresError) in row }
  }

  /// How many rows the statement at `index` changed (or gave).
  package func affectedRows(at index: Int) throws(PostgresError) -> Int { try result(index).affectedRows }

  private func result(_ index: Int) throws(PostgresError) -> PostgresResult {
    guard results.indices.contains(index) else {
      throw PostgresError(.misuse, "the statement batch had \(results.count) statements, \(index) is asked for")
    }
    return results[index]
  }
}
