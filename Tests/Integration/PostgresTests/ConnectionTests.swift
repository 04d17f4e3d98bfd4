import Testing

@testable import Postgres

/// Adds two numbers.
private struct Addition: PostgresStatement {
  static let sql = "SELECT $1 + $2"
  let left: Int64
  let right: Int64
  var parameters: [any PostgresValue] { [left, right] }
  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int64 { try row.decode(0) }
}

/// Adds one; planned each time.
private struct Successor: PostgresStatement {
  static let isPrepared = false
  static let sql = "SELECT $1 + 1"
  let number: Int64
  var parameters: [any PostgresValue] { [number] }
  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int64 { try row.decode(0) }
}

@Suite("Connection")
struct ConnectionTests {
  @Test("a prepared statement runs, runs again, and gives typed rows")
  func prepared() async throws {
    let connection = try await TestServer.connect()
    #expect(try connection.run(Addition(left: 2, right: 3)) == [5])
    #expect(try connection.run(Addition(left: -2, right: 3)) == [1])
    let names: [Int64] = try connection.query("SELECT count(*) FROM pg_prepared_statements").map {
      row throws(PostgresError) in try row.decode(0)
    }
    #expect(names == [1])
  }

  @Test("a statement that is planned for its parameters is not prepared, however often it runs")
  func unprepared() async throws {
    let connection = try await TestServer.connect()
    for number in 1...Int64(8) { #expect(try connection.run(Successor(number: number)) == [number + 1]) }
    #expect(try connection.query("SELECT name FROM pg_prepared_statements").isEmpty)
  }

  @Test("a text that is used often is prepared once, whatever its parameters say, and again by a new session")
  func preparedText() async throws {
    let connection = try await TestServer.connect()
    for _ in 0..<2 {
      for addend: Int64? in [3, nil] {
        var statements = StatementBatch()
        let index = statements.send(prepared: "SELECT 2 + coalesce($1, 1)", [addend])
        let row = try #require(try connection.run(statements).rows(at: index).first)
        #expect(try row.decode(0, Int64.self) == 2 + (addend ?? 1))
      }
      let rows = try connection.query("SELECT count(*) FROM pg_prepared_statements")
      #expect(try rows.first?.decode(0, Int64.self) == 1)
      try connection.reconnect()
    }
  }

  @Test(
    "every session has its settings",
    arguments: [
      ("idle_in_transaction_session_timeout", "5s"), ("synchronous_commit", "on"), ("TimeZone", "UTC"), ("jit", "off"),
      ("client_encoding", "UTF8"), ("application_name", "test"), ("statement_timeout", "30s"),
    ])
  func settings(name: String, value: String) async throws {
    let connection = try await TestServer.connect()
    let row = try #require(try connection.query("SELECT current_setting($1)", [name]).first)
    #expect(try row.decode(0, String.self) == value)
  }

  @Test("an error leaves the connection usable and names its statement")
  func serverError() async throws {
    let connection = try await TestServer.connect()
    let error = #expect(throws: PostgresError.self) { try connection.run(Addition(left: .max, right: 1)) }
    #expect(error?.sqlState == "22003")
    #expect(error?.isDataRefused == true)
    #expect(error?.statement == "Addition")
    #expect(connection.isUsable)
    #expect(try connection.run(Addition(left: 1, right: 1)) == [2])
  }

  @Test("a statement that takes too long is ended by the server, and the connection is usable")
  func statementTimeout() async throws {
    var configuration = try await TestServer.database()
    configuration.statementTimeoutMilliseconds = 100
    let connection = try PostgresConnection(configuration)
    let error = #expect(throws: PostgresError.self) { try connection.query("SELECT pg_sleep(20)") }
    #expect(error?.sqlState == "57014")
    #expect(error?.isRetriable == true)
    #expect(try connection.run(Addition(left: 1, right: 1)) == [2])
  }

  @Test("a transaction may be given longer than the session has, and nobody else is")
  func patientTransaction() async throws {
    var configuration = try await TestServer.database()
    configuration.statementTimeoutMilliseconds = 100
    configuration.silenceGraceMilliseconds = 100
    let connection = try PostgresConnection(configuration)
    try connection.transaction(statementMilliseconds: 20_000) { connection throws(PostgresError) in
      _ = try connection.query("SELECT pg_sleep(0.6)")
    }
    // Never less than the session has.
    for milliseconds in [nil, 10] {
      let error = #expect(throws: PostgresError.self) {
        try connection.transaction(statementMilliseconds: milliseconds) { connection throws(PostgresError) in
          try connection.query("SELECT pg_sleep(20)")
        }
      }
      #expect(error?.sqlState == "57014")
    }
    // Whoever waits is as impatient as before: this server keeps to no limit.
    try connection.execute(sql: "SET statement_timeout = 0")
    let error = #expect(throws: PostgresError.self) { try connection.query("SELECT pg_sleep(20)") }
    #expect(error?.kind == .connectionLost(commitUnknown: false))
  }

  @Test("a backend that is terminated while idle is a lost connection, and reconnecting helps")
  func terminatedWhileIdle() async throws {
    let connection = try await TestServer.connect()
    let other = try PostgresConnection(connection.configuration)
    _ = try other.query("SELECT pg_terminate_backend($1, 5000)", [connection.backendProcess])
    let error = #expect(throws: PostgresError.self) { try connection.run(Addition(left: 1, right: 1)) }
    #expect(error?.kind == .connectionLost(commitUnknown: false))
    #expect(error?.isRetriable == true)
    #expect(!connection.isUsable)
    #expect(throws: PostgresError.self) { try connection.query("SELECT 1") }
    try connection.reconnect()
    #expect(try connection.run(Addition(left: 1, right: 1)) == [2])
  }
}
