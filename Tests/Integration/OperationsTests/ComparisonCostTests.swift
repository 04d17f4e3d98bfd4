import AdCore
import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

/// What comparing costs those who serve.
@Suite("Cost of comparisons")
struct ComparisonCostTests {
  @Test("what comparing reads does not grow with the days that are sealed")
  func cost() async throws {
    let days = try await SealingTests.Days(sealed: true)
    try await onOwnThread {
      // Without rows on one side some joins read nothing of the other.
      try days.run(
        """
        INSERT INTO billing.rejected (partition, topic, record_offset, batch_number, arrival, reason, detail, value_length,
          value_hash)
        SELECT partition, min(topic), n, 40000, '2030-03-05Z', 30, '', 0, sha256('') FROM billing.input,
          generate_series(1, 5) AS n GROUP BY partition, n
        """)
      let few = try rowsRead(days)
      // As many batches, journals, allotments, terms and counts again as of a hundred sealed days.
      try days.run(
        """
        UPDATE sealed.batch SET batch_number = batch_number + 20000;
        INSERT INTO billing.posting SELECT 0, n, a, 'USD', 1, 1 FROM generate_series(30, 10000) AS n,
          unnest(ARRAY['x', 'y']) AS a;
        INSERT INTO billing.batch SELECT 0, n, '2030-03-02Z', '2030-03-02Z', NULL, NULL, '{}', '{}', '{}', '{}', '{}', '{}',
          '' FROM generate_series(30, 10000) AS n;
        INSERT INTO billing.day_revenue SELECT partition, '2030-01-01Z'::timestamptz - n * interval '1 day', kind, fate, app,
          developer, advertiser, campaign, ad, placement, country, device, size, currency, events, gross, developer_amount,
          network_amount FROM (SELECT * FROM billing.minute_revenue LIMIT 20) AS r, generate_series(1, 500) AS n;
        INSERT INTO billing.allotment SELECT id + n::bigint * 1000000, partition, ordinal + n, campaign, advertiser, currency,
          budget_day, granted, amount, charged, used, campaign_free, serve_until, state, batch_number, granted_at, closed_at,
          ended_at - n * interval '1 day', grant_version, close_version, end_version, click_rates
          FROM (SELECT * FROM billing.allotment WHERE state = vocabulary.allotment_state('ended') LIMIT 4) AS a,
          generate_series(1, 2500) AS n;
        \(PipelineChecks.services.map(Self.oldTerms).joined())
        ANALYZE billing.posting, billing.batch, billing.day_revenue, billing.allotment;
        """)
      let many = try rowsRead(days)
      #expect(many <= few + 200, "\(few) rows before, \(many) after")
    }
  }

  /// Terms of sealed days.
  private static func oldTerms(_ schema: String) -> String {
    """
    INSERT INTO \(schema).terms (name, last_day, app, developer, advertiser, campaign, ad, impression_price, click_price,
      currency, share_basis_points, life_ms, is_test)
    SELECT n, '2029-12-31', 'app', 'developer', 'advertiser', 'campaign', 'ad-' || n, 1, 1, 'USD', 6000, 1, false
    FROM generate_series(1, 10000) AS n;
    ANALYZE \(schema).terms;

    """
  }

  @Test("a comparison takes one processor, also where the planner would give it more")
  func workers() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      let unchosen = try plans(days, isChosen: false, settings: Self.manyWorkers)
      #expect(unchosen.filter(Self.hasWorkers).count > 10, "it would be seen")
      #expect(try plans(days, settings: Self.manyWorkers).filter(Self.hasWorkers) == [])
    }
  }

  private static func hasWorkers(_ line: String) -> Bool { line.contains("Workers Planned") }

  private static let manyWorkers = [
    "max_parallel_workers_per_gather": "2", "min_parallel_table_scan_size": "0", "parallel_setup_cost": "0",
    "parallel_tuple_cost": "0",
  ]

  /// Rows that the plans of all comparisons of sums, of those of open days, and of what each pass looks at besides, give
  /// on, before anything is filtered or joined.
  private func rowsRead(_ days: SealingTests.Days) throws -> Int64 {
    var rows: Int64 = 0
    for line in try plans(days) {
      if line.contains("Rows Removed by Filter"), let number = line.split(separator: ":").last {
        rows += Int64(number.filter(\.isNumber)) ?? 0
      } else if line.contains("Scan"), let number = line.firstMatch(of: /rows=([0-9]+)/) {
        rows += Int64(number.output.1) ?? 0
      }
    }
    return rows
  }

  private func plans(
    _ days: SealingTests.Days, isChosen: Bool = true, settings: [String: String] = [:]
  ) throws(PostgresError) -> [String] {
    try days.pool.snapshot { connection throws(PostgresError) in
      for (name, value) in settings { try connection.execute(sql: "SET LOCAL \(name) = \(value)") }
      if isChosen { try ReconciliationStatement.choosePlans(connection) }
      let head = try SealedHead.read(in: connection)
      var lines: [String] = []
      let sums = (PipelineChecks.all + MoneyChecks.all + TrafficChecks.sums).map { ($0.sql, $0.borders) }
      let open = ServeRange(from: head.openFrom.milliseconds, to: ServeRange.everything.to)
      let statements =
        (sums + [(MoneyChecks.ofCharges.sql, MoneyChecks.ofCharges.borders)]).map { ($0, $1.map(head.parameter)) }
        + (TrafficChecks.ofServes + TrafficChecks.ofServesApart).map { ($0.sql, open.parameters) }
        + [(ReadVitals.aheadSQL, [])]
      for (sql, parameters) in statements {
        let plan = try connection.query("EXPLAIN (ANALYZE, TIMING off, COSTS off, BUFFERS off) " + sql, parameters)
        for line in plan { lines.append(try line.decode(0)) }
      }
      return lines
    }
  }
}
