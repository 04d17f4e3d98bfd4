import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

@Suite("What a page of the catalogue reads")
struct CatalogPageTests {
  @Test("of a page's records the bodies are read, and of those behind it only how many there are")
  func bodies() async throws {
    let pool = try await TestDatabase.pool()
    let plan = try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(
          """
          INSERT INTO catalog.record (key, kind, body, version, change_number)
          SELECT 'ad/' || n, 'ad', jsonb_build_object('title', repeat('x', 500)), 1, n FROM generate_series(1, 3000) AS n;
          ANALYZE catalog.record; SET work_mem = '64kB'
          """)
        let page = ReadCatalogPage(kind: .ad, after: "ad/1", rowsMaximum: 10)
        let explain = "EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off) "
        let lines = try connection.query(explain + ReadCatalogPage.sql, page.parameters)
        return try lines.map { line throws(PostgresError) in try line.decode(0, String.self) }
      }
    }
    let scan = try #require(plan.first { $0.contains("on record (") })
    #expect(scan.contains("rows=10 "), "\(plan)")
    #expect(!plan.contains { $0.contains("temp ") }, "bodies went through files: \(plan)")
  }
}
