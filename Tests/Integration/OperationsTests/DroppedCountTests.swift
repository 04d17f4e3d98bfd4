import AdCore
import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations
@testable import PipelineHost

/// Counts that are dropped are missed by nobody who compares or pays.
@Suite("Dropped counts")
struct DroppedCountTests {
  private static let services = [
    ("ad_selection", "count"), ("impression_tracking", "count"), ("click_tracking", "count"), ("billing", "revenue"),
  ]
  /// Two days of February and three of March.
  private static let rows = DaysOfTraffic.rows.replacing("2030-03-01", with: "2030-02-27")
    .replacing("2030-03-06", with: "2030-03-04")
  /// When all but the last day can be sealed.
  private static let now = SealingTests.now.advanced(byMilliseconds: -2 * Windows.dayMilliseconds)
  /// When that one is folded too.
  private static let foldedAt = now.advanced(byMilliseconds: 2 * Windows.dayMilliseconds)

  /// What is counted of February.
  private static let february = services.map {
    "(SELECT count(*) FROM \($0.0).all_\($0.1) WHERE minute < '2030-03-01Z')"
  }.joined(separator: " + ")

  private static let months = """
    SELECT 'developer ' || m::text FROM reporting.developer_month AS m
    UNION ALL SELECT 'advertiser ' || m::text FROM reporting.advertiser_month AS m
    UNION ALL SELECT 'app ' || m::text FROM reporting.by_app AS m ORDER BY 1
    """

  private func texts(_ sql: String, _ days: SealingTests.Days) throws -> [String] {
    try days.pool.withConnection { connection throws(PostgresError) in
      var texts: [String] = []
      for row in try connection.query(sql) { texts.append(try row.decode(0)) }
      return texts
    }
  }

  private func fold(_ days: SealingTests.Days) throws {
    try days.pool.withConnection { connection throws(PostgresError) in
      for (schema, kind) in Self.services {
        let tables = CountTables(schema, kind, retention: Retention(minuteDays: 2, hourDays: 2, dayDays: 2))
        try tables.rollUp(connection, fewest: 1)
        try tables.foldRollups(connection, now: Self.foldedAt)
        try tables.fold(connection, now: Self.foldedAt)
      }
    }
  }

  @Test("I5 to I8, M6, B7: with the counts of a sealed month gone every comparison and every month says what it said")
  func comparisons() async throws {
    let days = try SealingTests.Days(try await TestDatabase.url())
    try await onOwnThread {
      defer { days.pool.close() }
      try days.run(Self.rows)
      try fold(days)
      #expect(try days.number(Self.february) > 0, "nothing is sealed")
      _ = try days.seal(now: Self.now)
      #expect(try days.sealedUntil() == "2030-03-03T00:00:00Z")
      let before = try Reconciler(days.pool).reconcile(withSealedRows: true)
      #expect(before.isClean, "\(before.text)")
      let months = try texts(Self.months, days)
      #expect(months.contains { $0.contains("2030-02-01") && $0.hasSuffix(",t)") }, "\(months)")

      try fold(days)
      #expect(try days.number(Self.february) == 0)
      let after = try Reconciler(days.pool).reconcile(withSealedRows: true)
      #expect(after.json == before.json, "\(after.text)")
      #expect(try texts(Self.months, days) == months)
      // It would be seen.
      try days.run("DELETE FROM billing.day_revenue WHERE minute >= '2030-03-03Z'")
      #expect(try Reconciler(days.pool).reconcile().differences > 0)
    }
  }
}
