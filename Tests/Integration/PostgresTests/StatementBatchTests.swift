import Testing

@testable import Postgres

/// Counts a row up.
private struct Increment: PostgresStatement {
  static let sql =
    "INSERT INTO counter AS c (id, n) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = c.n + $2 RETURNING n"
  let id: Int32
  let by: Int64
  var parameters: [any PostgresValue] { [id, by] }
  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int64 { try row.decode(0) }
}

@Suite("Statement batches and transactions")
struct StatementBatchTests {
  private func connectionWithCounter() async throws -> PostgresConnection {
    let connection = try await TestServer.connect()
    try connection.executeScript("CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL CHECK (n < 1000))")
    return connection
  }

  private func total(_ connection: PostgresConnection) throws -> Int128 {
    try #require(try connection.query("SELECT coalesce(sum(n), 0) FROM counter").first).decode(0)
  }

  @Test("answers come in order, and each ticket finds its own")
  func order() async throws {
    let connection = try await connectionWithCounter()
    var statements = StatementBatch()
    let tickets = (1...300).map { statements.send(Increment(id: Int32($0 % 3), by: 1)) }
    let plain = statements.send(sql: "UPDATE counter SET n = n + 1")
    let results = try connection.run(statements)
    #expect(try results.rows(tickets[299]) == [100])
    #expect(try results.rows(tickets[0]) == [1])
    #expect(try results.affectedRows(tickets[7]) == 1)
    #expect(try results.affectedRows(at: plain) == 3)
  }

  @Test("a failed statement is named by its index, the rest is undone, and the connection is usable")
  func failure() async throws {
    let connection = try await connectionWithCounter()
    let error = #expect(throws: PostgresError.self) {
      try connection.batch { statements in
        statements.send(Increment(id: 1, by: 5))
        statements.send(Increment(id: 1, by: 5_000))
        statements.send(Increment(id: 1, by: 5))
      }
    }
    #expect(error?.statementIndex == 1)
    #expect(error?.sqlState == "23514")
    #expect(error?.isDataRefused == true)
    #expect(error.map { !$0.description.contains("5005") } == true)
    #expect(try total(connection) == 0)
    #expect(try connection.run(Increment(id: 1, by: 7)) == [7])
  }

  @Test("statements and COMMIT in one batch; after a failure no transaction is open")
  func withCommit() async throws {
    let connection = try await connectionWithCounter()
    try connection.batch { statements in
      statements.begin()
      statements.send(Increment(id: 1, by: 5))
    }
    #expect(connection.isInTransaction)
    try connection.batch { statements in
      statements.send(Increment(id: 2, by: 5))
      statements.commit()
    }
    #expect(!connection.isInTransaction)
    #expect(try total(connection) == 10)
    try connection.begin()
    #expect(throws: PostgresError.self) {
      try connection.batch { statements in
        statements.send(Increment(id: 2, by: 5_000))
        statements.commit()
      }
    }
    #expect(!connection.isInTransaction)
    #expect(try total(connection) == 10)
  }

  @Test("COMMIT of a failed transaction is an error, not a silent rollback")
  func commitOfFailed() async throws {
    let connection = try await connectionWithCounter()
    try connection.begin()
    #expect(throws: PostgresError.self) { try connection.query("SELECT 1 / 0") }
    let error = #expect(throws: PostgresError.self) { try connection.commit() }
    #expect(error?.kind == .rolledBack)
    #expect(!connection.isInTransaction)
  }

  @Test("a transaction's closure commits, and rolls back when it throws")
  func closure() async throws {
    let connection = try await connectionWithCounter()
    let row = try connection.transaction { connection throws(PostgresError) in
      try connection.run(Increment(id: 1, by: 3))
    }
    #expect(row == [3])
    #expect(throws: PostgresError.self) {
      try connection.transaction { connection throws(PostgresError) in
        try connection.execute(Increment(id: 1, by: 3))
        throw PostgresError(.misuse, "given up")
      }
    }
    #expect(try total(connection) == 3)
  }

  @Test("50,000 statements with large answers in one batch do not deadlock")
  func large() async throws {
    let connection = try await TestServer.connect()
    let text = String(repeating: "y", count: 400)
    var statements = StatementBatch()
    for _ in 0..<50_000 { statements.send(sql: "SELECT $1", [text]) }
    let results = try connection.run(statements)
    #expect(results.count == 50_000)
    #expect(try results.rows(at: 49_999).first?.decode(0, String.self) == text)
  }
}
