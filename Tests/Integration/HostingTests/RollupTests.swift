import AdCore
import Migrations
import Postgres
import TestServices
import Testing

@testable import PipelineHost

/// Counts rolled up by one dimension each: what they add up to is what the counts do, at every moment.
@Suite("Rollups")
struct RollupTests {
  private static let now = Timestamp(milliseconds: 1_893_456_000_000 + 12 * 3_600_000)  // 2030-01-01T12:00Z
  private static let tables = CountedTraffic.schemas.map {
    CountTables($0.0, $0.1, retention: Retention(minuteDays: 7, hourDays: 30))
  }
  private static let sums = [
    "requests", "fills", "rendered", "impressions", "unloaded", "taps", "clicks", "stopped_actions", "errors",
    "gross_nanos", "developer_nanos", "network_nanos", "priced_impressions", "never_shown", "expired_unseen",
    "shown_briefly",
  ].map { "sum(\($0)) AS \($0)" }.joined(separator: ", ")

  /// How many groups of hours and values differ between the counts and their rollups, of each dimension; both ways.
  private func differences(_ connection: PostgresConnection) throws -> [String: Int64] {
    let dimensions = ["app", "campaign", "ad", "country", "size", "device", "placement"].map { ($0, $0) }
    let all = dimensions + [("all", "''"), ("minute", "public.minute_text(minute)")]
    var found: [String: Int64] = [:]
    for (counts, rollups, keys, sums) in [
      ("minute", "by_dimension", "is_test, error, currency", Self.sums),
      ("invalid_minute", "invalid_by_dimension", "is_test, kind, reason", "sum(events) AS events"),
    ] {
      // The views are read once, not for each dimension.
      try connection.executeScript(
        """
        CREATE TEMPORARY TABLE counted AS SELECT date_trunc('hour', minute, 'UTC') AS hour, * FROM reporting.\(counts);
        CREATE TEMPORARY TABLE rolled_up AS SELECT * FROM reporting.\(rollups)
        """)
      for (dimension, value) in all {
        let sql = """
          WITH counts AS (SELECT hour, \(value) AS value, \(keys), \(sums) FROM counted GROUP BY 1, 2, \(keys)),
          rollups AS (
            SELECT hour, value, \(keys), \(sums) FROM rolled_up WHERE dimension = '\(dimension)' GROUP BY hour, value, \(keys)
          )
          SELECT count(*) FROM ((TABLE counts EXCEPT ALL TABLE rollups) UNION ALL (TABLE rollups EXCEPT ALL TABLE counts)) AS d
          """
        let number = try connection.query(sql).first?.decode(0, Int64.self) ?? -1
        if number != 0 { found["\(rollups) \(dimension)", default: 0] += number }
      }
      try connection.executeScript("DROP TABLE counted, rolled_up")
    }
    return found
  }

  private func number(_ connection: PostgresConnection, _ sql: String) throws -> Int64 {
    try #require(try connection.query("SELECT (\(sql))::bigint").first).decode(0)
  }

  private static let unrolled = CountedTraffic.schemas.map { "(SELECT count(*) FROM \($0.0).unrolled_\($0.1))" }
    .joined(separator: " + ")
  private static let rolledUp = CountedTraffic.schemas.map { "(SELECT count(*) FROM \($0.0).rollup_\($0.1))" }
    .joined(separator: " + ")

  /// Counts of old and of young hours, and one of an app that is none.
  private static let late = """
    INSERT INTO billing.minute_revenue (partition, minute, kind, fate, app, developer, advertiser, campaign, ad, placement,
      country, device, size, currency, events, gross, developer_amount, network_amount)
    SELECT partition, minute, kind, fate, app, developer, advertiser, campaign, ad, placement, country, device, size, currency,
      events, gross, developer_amount, network_amount
    FROM billing.minute_revenue ORDER BY minute LIMIT 1;
    INSERT INTO impression_tracking.minute_count (partition, minute, kind, error, app, campaign, ad, placement, country, size,
      device, is_test, events)
    SELECT partition, minute, vocabulary.delivery_kind('failed'), 5, 'unheard of', '', '', placement, '', size, device,
      is_test, 5
    FROM impression_tracking.minute_count LIMIT 1;
    INSERT INTO click_tracking.minute_count (partition, minute, kind, verdict, app, campaign, ad, placement, country, size,
      device, is_test, events)
    SELECT partition, minute, kind, verdict, app, campaign, ad, placement, country, size, device, is_test, 3
    FROM click_tracking.minute_count ORDER BY minute DESC LIMIT 2
    """

  @Test("M6: whether rolled up, partly or not, packed, late or folded, each dimension has all that is counted, once")
  func sums() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    try connection.executeScript(CountedTraffic.counts)
    try connection.executeScript(CountedTraffic.pack)
    #expect(try differences(connection) == [:])
    #expect(try number(connection, Self.rolledUp) == 0)
    // What one transaction wrote goes together: there are two of each table.
    for tables in Self.tables { try tables.rollUp(connection, fewest: 1, most: 1) }
    #expect(try number(connection, Self.unrolled) == 0 && number(connection, Self.rolledUp) > 1000)
    #expect(try differences(connection) == [:])
    // Late ones, of old and of young hours: fewer than are worth it wait.
    try connection.executeScript(Self.late)
    for tables in Self.tables { try tables.rollUp(connection) }
    #expect(try number(connection, Self.unrolled) > 0)
    #expect(try differences(connection) == [:])
    try connection.execute(sql: "UPDATE pipeline.rollup SET rolled_up_at = now() - interval '2 hours'")
    for tables in Self.tables { try tables.rollUp(connection) }
    #expect(try number(connection, Self.unrolled) == 0)
    #expect(try differences(connection) == [:])
    for tables in Self.tables {
      try tables.rollUp(connection, fewest: 1)
      try tables.foldRollups(connection, now: Self.now)
      try tables.fold(connection, now: Self.now)
    }
    // Of folded times there is no minute any more on either side.
    #expect(try differences(connection) == [:])
    for (schema, kind) in CountedTraffic.schemas {
      let old = "FROM \(schema).rollup_\(kind) WHERE hour"
      #expect(
        try number(connection, "SELECT count(*) \(old) < '2029-12-02Z' AND hour <> date_trunc('day', hour, 'UTC')") == 0
      )
      #expect(
        try number(
          connection,
          "SELECT count(*) \(old) < '2029-12-25Z' AND dimension = 'minute' AND value <> public.minute_text(hour)") == 0)
      #expect(
        try number(
          connection,
          "SELECT count(*) \(old) >= '2029-12-25Z' AND dimension = 'minute' AND value <> public.minute_text(hour)") > 0
      )
    }
  }

  @Test("what a transaction counts that ends late is rolled up once it has ended, and read before that")
  func unfinished() async throws {
    let configuration = try await TestDatabase.configuration()
    let (early, late, roller) = try (
      PostgresConnection(configuration), PostgresConnection(configuration), PostgresConnection(configuration)
    )
    let count = """
      INSERT INTO click_tracking.minute_count (partition, minute, kind, verdict, app, campaign, ad, placement, country, size,
        device, is_test, events) VALUES (0, '2030-01-01 10:00Z', 1, 1, 'chess', 'c', 'a', 'home', 'US', 1, 1, false, 1)
      """
    let clicks = """
      SELECT coalesce(sum(clicks), 0) FROM reporting.by_dimension WHERE dimension = 'app' AND value = 'chess'
      """
    let unrolled = "SELECT count(*) FROM click_tracking.unrolled_count"
    let tables = CountTables("click_tracking", retention: Retention())
    try early.begin()
    try early.execute(sql: count)
    // It began later and ends sooner.
    try late.execute(sql: count)
    try tables.rollUp(roller, fewest: 1)
    #expect(try number(roller, clicks) == 1 && number(roller, unrolled) == 1)
    #expect(try !tables.areRollupsHeldUp(roller))
    try roller.execute(sql: "UPDATE pipeline.rollup SET rolled_up_at = now() - interval '3 hours'")
    #expect(try tables.areRollupsHeldUp(roller))
    try early.commit()
    #expect(try number(roller, clicks) == 2)
    // Who comes while another rolls up goes without.
    try late.begin()
    try tables.rollUp(late, fewest: 1)
    try tables.rollUp(roller, fewest: 1)
    #expect(try number(roller, clicks) == 2 && number(roller, unrolled) == 2)
    #expect(try number(late, clicks) == 2 && number(late, unrolled) == 0)
    try late.commit()
    #expect(try number(roller, clicks) == 2 && number(roller, unrolled) == 0)
    // A transaction that is taken back leaves nothing behind, and is passed over.
    try early.begin()
    try early.execute(sql: count)
    try early.rollback()
    try late.execute(sql: count)
    try tables.rollUp(roller, fewest: 1)
    #expect(try number(roller, clicks) == 3 && number(roller, unrolled) == 0)
  }

  @Test("what is not rolled up is not folded; a unit of very many packs is folded in parts, and adds up")
  func parts() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    try connection.executeScript(
      """
      INSERT INTO click_tracking.packed_count (partition, minute, kind, verdict, app, campaign, ad, placement, country, size,
        device, is_test, events)
      SELECT 0, '2029-06-01 10:00Z'::timestamptz + n % 50 * interval '1 minute', '{1}', '{1}', '{chess}', '{c}', '{a}',
        '{home}', '{US}', '{1}', '{1}', '{false}', '{2}'
      FROM generate_series(1, 2500) AS n
      """)
    let fold = """
      SELECT public.fold_counts('click_tracking.packed_count', 'click_tracking.hour_count', 'hour', 'epoch', '2030-01-01Z')
      """
    let left = "SELECT count(*) FROM click_tracking.packed_count"
    #expect(try connection.query(fold).first?.decode(0, PostgresTimestamp?.self) == nil)
    #expect(try number(connection, left) == 2500)
    try CountTables("click_tracking", retention: Retention()).rollUp(connection, fewest: 1)
    _ = try connection.query(fold)
    // 2,000, and what is of the same minute as the next.
    #expect(try number(connection, left) == 450)
    _ = try connection.query(fold)
    #expect(try number(connection, left) == 0)
    #expect(try number(connection, "SELECT count(*) FROM click_tracking.hour_count") == 2)
    #expect(try number(connection, "SELECT sum(events) FROM click_tracking.all_count") == 5000)
    #expect(try differences(connection) == ["by_dimension minute": 51])
  }

  @Test(
    "rows that were copied into another server, whose transactions have other numbers, are rolled up anew by the migrations"
  )
  func copied() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    try connection.executeScript(CountedTraffic.counts)
    for tables in Self.tables {
      try tables.rollUp(connection, fewest: 1)
      try tables.foldRollups(connection, now: Self.now)
      try tables.fold(connection, now: Self.now)
    }
    try connection.executeScript(
      """
      UPDATE pipeline.rollup SET last_transaction = '4000000000000', server = server + 1;
      UPDATE billing.minute_revenue SET written_by = '3999999999999';
      DELETE FROM billing.rollup_revenue WHERE dimension = 'app';
      INSERT INTO billing.minute_revenue SELECT * FROM billing.minute_revenue LIMIT 1
      """)
    #expect(try !differences(connection).isEmpty)
    let error = #expect(throws: PostgresError.self) { try Self.tables[0].rollUp(connection) }
    #expect(error?.description.contains("run handbill migrate up") == true)
    _ = try MigrationRunner().up(connection)
    #expect(try differences(connection) == [:])
    #expect(try number(connection, Self.unrolled) == 0)
  }

  @Test("of what is rolled up no row is read: a report goes by the index to what is not")
  func plan() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    try connection.executeScript(
      """
      INSERT INTO ad_selection.packed_count (partition, minute, reason, app, placement, campaign, ad, country, device, size,
        is_test, requests, fills, injected_error)
      SELECT 0, date_trunc('minute', now()), '{1}', '{chess}', '{home}', '{c}', '{a}', '{US}', '{1}', '{1}', '{false}', '{1}',
        '{1}', '{0}'
      FROM generate_series(1, 5000);
      ANALYZE ad_selection.packed_count
      """)
    let today = try #require(
      try connection.query("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')").first?.decode(0, String.self))
    let lines = try connection.query(
      """
      EXPLAIN SELECT sum(requests) FROM reporting.by_dimension
      WHERE dimension = 'app' AND hour >= now() - interval '7 days'
      """
    ).map { try $0.decode(0, String.self) }
    #expect(lines.contains { $0.contains("packed_count_\(today)_written_by_idx") })
    #expect(!lines.contains { $0.contains("Seq Scan on packed_count_\(today)") })
  }
}
