import LocalProcesses
import Postgres
import TestServers
import Testing

@Suite("The pool of connections")
struct PostgresPoolTests {
  private func number(_ pool: PostgresPool, _ sql: String) throws(PostgresError) -> Int64 {
    try pool.withConnection { connection throws(PostgresError) in try connection.query(sql)[0].decode(0) }
  }

  @Test("a lost connection is made anew, an open transaction is rolled back, and connections are used again")
  func reconnects() async throws {
    let pool = PostgresPool(try PostgresConfiguration(try await SharedPostgres.database()), size: 1)
    try await onOwnThread {
      let first = try number(pool, "SELECT pg_backend_pid()::bigint")
      #expect(try number(pool, "SELECT pg_backend_pid()::bigint") == first)
      try pool.withConnection { connection throws(PostgresError) in
        try connection.begin()
        try connection.execute(sql: "CREATE TABLE half ()")
      }
      #expect(try number(pool, "SELECT count(*) FROM pg_class WHERE relname = 'half'") == 0)
      #expect(throws: PostgresError.self) {
        _ = try number(pool, "SELECT pg_terminate_backend(pg_backend_pid())::int::bigint")
      }
      #expect(try number(pool, "SELECT pg_backend_pid()::bigint") != first)
    }
  }

  @Test("when all connections are in use for longer than the wait, the caller is told; closed, it says so")
  func exhausted() async throws {
    let configuration = try PostgresConfiguration(try await SharedPostgres.database())
    let pool = PostgresPool(configuration, size: 1, waitMillisecondsMaximum: 50)
    try await onOwnThread {
      try pool.withConnection { _ throws(PostgresError) in
        let error = #expect(throws: PostgresError.self) { _ = try number(pool, "SELECT 1::bigint") }
        #expect(error?.kind == .poolUnavailable)
      }
      #expect(try number(pool, "SELECT 1::bigint") == 1)
      pool.close()
      let error = #expect(throws: PostgresError.self) { _ = try number(pool, "SELECT 1::bigint") }
      #expect(error?.kind == .poolUnavailable)
    }
  }
}
