import AdCore
import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

@Suite("What reports read")
struct ReportPlanTests {
  @Test("the figures' first column is the partition that counted them, so that they may be spread by it")
  func partition() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    defer { connection.close() }
    let rows = try connection.query(
      "SELECT attname::text FROM pg_attribute WHERE attrelid = 'reporting.minute'::regclass AND attnum = 1")
    #expect(try rows.map { try $0.decode(0, String.self) } == ["partition"])
  }

  /// The tables of one day each that a plan reads.
  private func dayTables(_ query: ReportQuery, _ connection: PostgresConnection) throws -> Set<String> {
    let report = ReadReport(query: query)
    let lines = try connection.query("EXPLAIN " + ReadReport.sql, report.parameters).map {
      try $0.decode(0, String.self)
    }
    return Set(
      lines.flatMap { $0.matches(of: /on ((minute|packed)_(count|revenue)_(\d{8}|other))/).map { String($0.output.1) } }
    )
  }

  @Test("a report of one day reads the tables of that day's counts, and of no other day's")
  func oneDay() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    defer { connection.close() }
    let rows = try connection.query(
      """
      SELECT to_char(day, 'YYYYMMDD'), day FROM (
        SELECT date_trunc('day', now(), 'UTC') - interval '1 day' AS day) AS yesterday
      """)
    let row = try #require(rows.first)
    let (name, from): (String, Timestamp) = (try row.decode(0), try row.decode(1))
    let day = ReportQuery(grouping: [.app], from: from, until: from.advanced(byMilliseconds: 86_400_000))
    let kinds = ["minute_count", "packed_count", "minute_revenue", "packed_revenue"]
    #expect(try dayTables(day, connection) == Set(kinds.map { "\($0)_\(name)" }))
    // Without its times it would read more.
    #expect(try dayTables(ReportQuery(grouping: [.app]), connection).count > 2 * kinds.count)
  }
}
