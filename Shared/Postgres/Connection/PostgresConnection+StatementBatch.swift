internal import CLibpq

extension PostgresConnection {
  /// Sends the statements that `fill` adds, in one go. See `run(_:)`.
  @discardableResult
  package func batch(_ fill: (inout StatementBatch) -> Void) throws(PostgresError) -> StatementBatchResults {
    var statements = StatementBatch()
    fill(&statements)
    return try run(statements)
  }

  /// Sends all `statements` and waits for all answers: one round trip. Throws the first failed
  /// statement's error with its index; the rest was skipped and the connection is usable. If they end with
  /// COMMIT, no transaction is open afterwards, and a connection lost before COMMIT's answer came is
  /// `.connectionLost(commitUnknown: true)`.
  @discardableResult
  package func run(_ statements: StatementBatch) throws(PostgresError) -> StatementBatchResults {
    if let failure = statements.failure { throw failure }
    guard !statements.entries.isEmpty else { return StatementBatchResults(results: []) }
    do {
      return try withSession { session throws(PostgresError) in
        var exchange = StatementBatchExchange(session: session, entries: statements.entries)
        return try exchange.run(on: self)
      }
    } catch {
      if statements.hasCommit, isInTransaction { try rollback() }
      throw error
    }
  }
}

/// One statement batch's way to the server and back.
private struct StatementBatchExchange {
  /// After so many statements the buffer is sent, so that it stays small and the server begins.
  private static let statementsPerFlush = 128

  let session: Session
  let entries: [StatementBatch.Entry]
  /// What the server will answer to, in order.
  private var commands: [Command] = []
  private var results: [PostgresResult] = []
  /// The first statement that failed.
  private var failure: PostgresError?

  private enum Command {
    case prepare(entry: Int, key: PreparedKey, name: String)
    case execute(entry: Int)
  }

  init(session: Session, entries: [StatementBatch.Entry]) {
    self.session = session
    self.entries = entries
  }

  mutating func run(on connection: PostgresConnection) throws(PostgresError) -> StatementBatchResults {
    guard unsafe PQenterPipelineMode(session.handle) == 1 else {
      // libpq refuses it only in the middle of something else, or without a connection.
      throw session.lost()
    }
    do {
      try send(connection)
      try receive(connection)
    } catch {
      // A statement that the server refused is the better news: with it, COMMIT cannot have happened.
      if let failure {
        if error.isConnectionLost { connection.close() }
        throw failure
      }
      // Everything was answered, COMMIT too: what got lost is only the end of the batch.
      if results.count == entries.count {
        connection.close()
        return StatementBatchResults(results: results)
      }
      throw lostDuringCommit(error)
    }
    unsafe PQexitPipelineMode(session.handle)
    if let failure { throw failure }
    return StatementBatchResults(results: results)
  }

  /// `error`, saying that the COMMIT's fate is unknown if one was sent.
  private func lostDuringCommit(_ error: PostgresError) -> PostgresError {
    guard error.isConnectionLost, entries.last?.isCommit == true else { return error }
    var error = error
    error.kind = .connectionLost(commitUnknown: true)
    return error
  }

  private mutating func send(_ connection: PostgresConnection) throws(PostgresError) {
    var names = connection.prepared
    for (index, entry) in entries.enumerated() {
      if let key = entry.key {
        let name = try prepare(entry, key, index, &names, connection)
        try sendPrepared(entry, name)
      } else {
        try sendUnprepared(entry)
      }
      commands.append(.execute(entry: index))
      if index % Self.statementsPerFlush == Self.statementsPerFlush - 1 { try session.flush() }
    }
    guard unsafe PQpipelineSync(session.handle) == 1 else { throw session.lost() }
    try session.flush()
  }

  /// The name of the prepared statement, which is sent for preparing if it is new.
  private mutating func prepare(
    _ entry: StatementBatch.Entry, _ key: PreparedKey, _ index: Int, _ names: inout [PreparedKey: String],
    _ connection: PostgresConnection
  ) throws(PostgresError) -> String {
    if let name = names[key] { return name }
    let name = connection.nextStatementName()
    let types = entry.parameters.types
    guard unsafe PQsendPrepare(session.handle, name, entry.sql, Int32(types.count), types) == 1 else {
      throw session.lost()
    }
    names[key] = name
    commands.append(.prepare(entry: index, key: key, name: name))
    return name
  }

  private func sendPrepared(_ entry: StatementBatch.Entry, _ name: String) throws(PostgresError) {
    let count = Int32(entry.parameters.count)
    let sent = unsafe entry.parameters.withPointers { values, lengths, formats in
      unsafe PQsendQueryPrepared(session.handle, name, count, values, lengths, formats, 1)
    }
    guard sent == 1 else { throw session.lost() }
  }

  private func sendUnprepared(_ entry: StatementBatch.Entry) throws(PostgresError) {
    let count = Int32(entry.parameters.count)
    let sent = unsafe entry.parameters.withPointers { values, lengths, formats in
      unsafe PQsendQueryParams(session.handle, entry.sql, count, entry.parameters.types, values, lengths, formats, 1)
    }
    guard sent == 1 else { throw session.lost() }
  }

  private mutating func receive(_ connection: PostgresConnection) throws(PostgresError) {
    results.reserveCapacity(entries.count)
    for command in commands {
      guard let result = try session.nextResult() else { throw session.lost() }
      try take(result, of: command, connection)
      while try session.nextResult() != nil {}
    }
    guard let end = try session.nextResult() else { throw session.lost() }
    if let error = session.check(end) { throw error }
    guard end.status == PGRES_PIPELINE_SYNC else { throw session.lost() }
  }

  private mutating func take(
    _ result: PostgresResult, of command: Command, _ connection: PostgresConnection
  ) throws(PostgresError) {
    if result.status == PGRES_PIPELINE_ABORTED { return }
    if var error = session.check(result) {
      let index =
        switch command {
        case .prepare(let entry, _, _), .execute(let entry): entry
        }
      error.statementIndex = index
      error.statement = entries[index].name
      if error.isConnectionLost { throw error }
      // A changed table or DISCARD makes what was prepared useless; it is prepared anew at the next use.
      if error.sqlState == "0A000" || error.sqlState == "26000" { connection.prepared = [:] }
      if failure == nil { failure = error }
      return
    }
    switch command {
    case .prepare(_, let key, let name): connection.prepared[key] = name
    case .execute(let index):
      results.append(result)
      if entries[index].isCommit, result.commandTag != "COMMIT" {
        failure = PostgresError(.rolledBack, "the transaction was rolled back, because a statement of it had failed")
      }
    }
  }
}
