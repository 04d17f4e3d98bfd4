import AdCore
import Migrations
import Postgres
import TestServices
import Testing

@testable import PipelineHost

/// Counts of minutes become counts of hours, and those of days: nothing that anybody adds up changes by it. Days go when they
/// are old, and what they are rolled up to stays.
@Suite("Folding counts")
struct FoldingTests {
  /// Noon of a day from whose point of view the rows below are old.
  private static let now = Timestamp(milliseconds: 1_893_456_000_000 + 12 * 3_600_000)  // 2030-01-01T12:00Z
  private static let retention = Retention(minuteDays: 7, hourDays: 30, dayDays: 30)

  private func database() async throws -> PostgresConnection {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    try connection.executeScript(CountedTraffic.counts)
    return connection
  }

  private func fold(
    _ connection: PostgresConnection, _ schemas: [(String, String)] = CountedTraffic.schemas, now: Timestamp = Self.now
  ) throws {
    for (schema, kind) in schemas {
      let tables = CountTables(schema, kind, retention: Self.retention)
      try tables.maintain(connection, now: now)
      try tables.rollUp(connection, fewest: 1)
      try tables.foldRollups(connection, now: now)
      try tables.fold(connection, now: now)
      // What is folded by now has tables without rows.
      try tables.maintain(connection, now: now)
    }
  }

  private func number(_ connection: PostgresConnection, _ sql: String) throws -> Int64 {
    try #require(try connection.query("SELECT (\(sql))::bigint").first).decode(0)
  }

  /// What every view of reports says, as text; of those with a time, per day.
  private func reports(_ connection: PostgresConnection) throws -> [String: [String]] {
    let kept = "is_test, app, campaign, ad, placement, country, size, device"
    let sums = [
      "requests", "fills", "rendered", "impressions", "unloaded", "taps", "clicks", "stopped_actions", "errors",
      "gross_nanos", "developer_nanos", "network_nanos", "priced_impressions",
      "never_shown", "expired_unseen",
      "shown_briefly",
    ]
    let quality = [
      "gross_impressions", "net_impressions", "impossible_views", "gross_clicks", "net_clicks", "repeats", "accidental",
      "too_early", "too_late", "limited", "without_impression", "impossible_clicks",
    ]
    func perDay(_ view: String, _ time: String, _ keys: String, _ sums: [String]) -> String {
      let day = "date_trunc('day', \(time), 'UTC')"
      return "SELECT \(day) AS time, \(keys), \(sums.map { "sum(\($0)) AS \($0)" }.joined(separator: ", ")) "
        + "FROM reporting.\(view) GROUP BY \(day), \(keys)"
    }
    var queries = [
      "minute": perDay("minute", "minute", kept + ", error, currency", sums),
      "by_dimension": perDay(
        "by_dimension", "hour",
        "dimension, CASE dimension WHEN 'minute' THEN '' ELSE value END, is_test, error, currency", sums),
      "invalid_by_dimension": perDay(
        "invalid_by_dimension", "hour",
        "dimension, CASE dimension WHEN 'minute' THEN '' ELSE value END, is_test, kind, reason", ["events"]),
      "invalid_minute": perDay("invalid_minute", "minute", kept + ", kind, reason", ["events"]),
      "traffic_quality": perDay("traffic_quality", "hour", "app, is_test", quality),
      "traffic_quality_minute": perDay("traffic_quality_minute", "minute", "app, is_test", quality),
    ]
    for row in try connection.query(
      "SELECT table_name::text FROM information_schema.views WHERE table_schema = 'reporting'")
    {
      let name: String = try row.decode(0)
      // Their times are hours; "minute" has them too.
      if !name.hasPrefix("by_hour"), queries[name] == nil { queries[name] = "SELECT * FROM reporting.\(name)" }
    }
    return try queries.mapValues { sql in
      try connection.query("SELECT to_jsonb(r)::text FROM (\(sql)) AS r ORDER BY 1").map { try $0.decode(0) }
    }
  }

  @Test("M6, B7: folding into hours and days changes no report; what is young stays by the minute")
  func sums() async throws {
    let connection = try await database()
    let unpacked = try reports(connection)
    try connection.executeScript(CountedTraffic.pack)
    let before = try reports(connection)
    #expect(before == unpacked)
    #expect(before.count > 20 && before["by_app"]?.count == 2 && before["developer_month"]?.count == 3)
    try fold(connection)
    for (view, rows) in try reports(connection) { #expect(rows == before[view], "reporting.\(view)") }
    for (schema, kind) in CountedTraffic.schemas {
      let (minutes, hours, days) = ("\(schema).minute_\(kind)", "\(schema).hour_\(kind)", "\(schema).day_\(kind)")
      #expect(try number(connection, "SELECT count(*) FROM \(minutes) WHERE minute < '2029-12-25Z'") == 0)
      #expect(try number(connection, "SELECT count(*) FROM \(minutes) WHERE minute >= '2029-12-25Z'") > 600)
      let packed = "SELECT count(*) FROM \(schema).packed_\(kind) WHERE minute"
      #expect(try number(connection, packed + " < '2029-12-25Z'") == 0)
      #expect(try number(connection, packed + " >= '2029-12-25Z'") > 20)
      #expect(try number(connection, "SELECT count(*) FROM \(hours) WHERE minute <> date_trunc('hour', minute)") == 0)
      #expect(
        try number(
          connection, "SELECT count(*) FROM \(hours) WHERE minute < '2029-12-02Z' OR minute >= '2029-12-25Z'") == 0)
      #expect(try number(connection, "SELECT count(*) FROM \(hours)") > 500)
      #expect(try number(connection, "SELECT count(DISTINCT minute) FROM \(days) WHERE minute < '2029-12-02Z'") == 10)
      #expect(try number(connection, "SELECT count(*) FROM \(days) WHERE minute <> date_trunc('day', minute)") == 0)
    }
    // A second time there is nothing to do.
    let rows = "SELECT count(*) FROM billing.all_revenue"
    let count = try number(connection, rows)
    try fold(connection)
    #expect(try number(connection, rows) == count)
  }

  @Test("what comes late for a folded minute is another row, is read with the others, and folded later")
  func late() async throws {
    let connection = try await database()
    try fold(connection, [("billing", "revenue")])
    let total = "SELECT sum(events) FROM billing.all_revenue"
    let count = try number(connection, total)
    try connection.executeScript(
      """
      INSERT INTO billing.minute_revenue SELECT * FROM billing.day_revenue LIMIT 1;
      INSERT INTO billing.minute_revenue SELECT * FROM billing.hour_revenue LIMIT 1;
      """)
    let added = try number(connection, total) - count
    #expect(added >= 2)
    try fold(connection, [("billing", "revenue")])
    #expect(try number(connection, total) == count + added)
    #expect(try number(connection, "SELECT count(*) FROM billing.minute_revenue WHERE minute < '2029-12-25Z'") == 0)
  }

  @Test("tables of days are made ahead, and dropped once everything in them is folded")
  func retention() async throws {
    let connection = try await database()
    let tables = """
      SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'billing.minute_revenue'::regclass AND c.relname LIKE '%\\_20%'
      """
    let kept = CountTables("billing", "revenue", retention: Self.retention)
    // The rows above had no tables of their days: they stay where they are until they are folded.
    try kept.maintain(connection, now: Self.now)
    #expect(try number(connection, tables + " AND c.relname >= 'minute_revenue_20300102'") == 3)
    try fold(connection, [("billing", "revenue")])
    #expect(try number(connection, "SELECT count(*) FROM billing.minute_revenue_other") > 0)
    // A week later today's rows have theirs, and are not dropped while they are not folded.
    try connection.executeScript(
      "INSERT INTO billing.minute_revenue SELECT * FROM billing.day_revenue LIMIT 1; "
        + "UPDATE billing.minute_revenue SET minute = '2030-01-03 05:00Z' WHERE minute < '2029-12-24Z'")
    let later = Self.now.advanced(byMilliseconds: 30 * 86_400_000)
    try kept.maintain(connection, now: later)
    #expect(try number(connection, "SELECT count(*) FROM billing.minute_revenue_20300103") == 1)
    #expect(try number(connection, tables + " AND c.relname < 'minute_revenue_20300103'") == 0)
    try kept.rollUp(connection, fewest: 1)
    try kept.fold(connection, now: later)
    try kept.maintain(connection, now: later)
    #expect(try number(connection, tables + " AND c.relname < 'minute_revenue_20300124'") == 0)
    #expect(try number(connection, tables) == 11)
  }

  @Test("whoever holds a table up is not waited for: it is tried again later")
  func busy() async throws {
    let configuration = try await TestDatabase.configuration()
    let connection = try PostgresConnection(configuration)
    // Folding takes its time on a busy machine, and the reader idles meanwhile.
    var patient = configuration
    patient.idleInTransactionTimeoutMilliseconds = 600_000
    let reader = try PostgresConnection(patient)
    try reader.begin()
    _ = try reader.query("SELECT count(*) FROM billing.minute_revenue")
    let kept = CountTables("billing", "revenue", retention: Self.retention)
    let error = #expect(throws: PostgresError.self) { try kept.maintain(connection, now: Self.now) }
    #expect(error?.sqlState == "55P03")
    // Who only appends is not in the way of who folds.
    try connection.executeScript(CountedTraffic.counts)
    try kept.rollUp(connection, fewest: 1)
    try kept.fold(connection, now: Self.now)
    try reader.commit()
    try kept.maintain(connection, now: Self.now)
  }

  private func seal(_ connection: PostgresConnection, until: String) throws {
    try connection.execute(sql: "UPDATE sealed.head SET open_from = '\(until)'")
  }

  /// Views that read counts with all their dimensions.
  private static let allDimensions = ["minute", "invalid_minute", "traffic_quality_minute"]
  /// What is counted of the month that is over by more than the retention.
  private static let november = CountedTraffic.schemas.map {
    "(SELECT count(*) FROM \($0.0).all_\($0.1) WHERE minute < '2029-12-01Z')"
  }.joined(separator: " + ")

  @Test("M6, B7: a month beyond retention goes once it is sealed and folded; rollups, months and younger days stay")
  func dropped() async throws {
    let connection = try await database()
    // Of that month one service has a table; of the others its days lie in that of whatever has none.
    try fold(connection, [("billing", "revenue")], now: Self.now.advanced(byMilliseconds: -5 * 86_400_000))
    let table = "SELECT count(*) FROM pg_class WHERE relname = 'day_revenue_20291101'"
    try fold(connection)
    #expect(try number(connection, table) == 1)
    let counted = try number(connection, Self.november)
    #expect(counted > 100, "nothing is sealed")
    try seal(connection, until: "2029-11-30Z")
    try fold(connection)
    #expect(try number(connection, Self.november) == counted, "its last day is not sealed")

    try seal(connection, until: "2029-12-15Z")
    let before = try reports(connection)
    let drop = "SELECT public.drop_counts('billing', '2029-12-02Z')"
    func isHeldUp(byRowsOf finer: String) throws -> Bool {
      try connection.begin()
      try connection.execute(
        sql: "INSERT INTO \(finer) SELECT * FROM billing.day_revenue WHERE minute < '2029-12-01Z' LIMIT 1")
      let mayBeMore: Bool? = try connection.query(drop).first?.decode(0)
      let stays = try number(connection, table) == 1
      try connection.rollback()
      return mayBeMore == false && stays
    }
    #expect(try isHeldUp(byRowsOf: "billing.minute_revenue"), "it is not rolled up")
    #expect(try isHeldUp(byRowsOf: "billing.hour_revenue"), "it is not folded")
    #expect(try !isHeldUp(byRowsOf: "billing.day_revenue"))
    try fold(connection)
    #expect(try number(connection, Self.november) == 0)
    #expect(try number(connection, table) == 0)
    for (schema, kind) in CountedTraffic.schemas {
      #expect(try number(connection, "SELECT count(DISTINCT minute) FROM \(schema).day_\(kind)") == 1)
    }
    let after = try reports(connection)
    for (view, rows) in after {
      let had = before[view] ?? []
      let younger = Self.allDimensions.contains(view) ? had.filter { !$0.contains("\"2029-11-") } : had
      #expect(rows == younger, "reporting.\(view)")
    }
    for view in Self.allDimensions { #expect(after[view]?.isEmpty == false && after[view] != before[view]) }

    // Rollups are made anew of what there is, and older ones stay.
    try connection.executeScript(
      """
      UPDATE pipeline.rollup SET server = server + 1;
      DELETE FROM billing.rollup_revenue WHERE dimension = 'app' AND hour >= '2029-12-01Z'
      """)
    #expect(try reports(connection) != after)
    _ = try MigrationRunner().up(connection)
    for (view, rows) in try reports(connection) { #expect(rows == after[view], "reporting.\(view), made anew") }
  }

  @Test("folding rollups reads what is not folded, whatever else there is")
  func cost() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    // Years of days, and an hour to fold and two of one day.
    try connection.executeScript(
      """
      INSERT INTO click_tracking.rollup_count (hour, dimension, value, kind, verdict, is_test, events)
      SELECT day, dimension, CASE dimension WHEN 'minute' THEN public.minute_text(day) ELSE '' END, 1, verdict, false, 1
      FROM generate_series('2024-01-01Z'::timestamptz, '2029-11-01Z', interval '1 day') AS day,
        unnest(ARRAY['minute', 'all', 'app']) AS dimension, generate_series(1, 5) AS verdict;
      INSERT INTO click_tracking.rollup_count (hour, dimension, value, kind, verdict, is_test, events)
      SELECT hour, dimension, value, 1, 1, false, 1 FROM unnest(ARRAY['2029-11-02 07:00Z', '2029-11-02 08:00Z',
          '2029-12-10 05:00Z']::timestamptz[]) AS hour, LATERAL (
        VALUES ('all', ''), ('minute', public.minute_text(hour)), ('minute', public.minute_text(hour + interval '7 minutes'))
      ) AS counted (dimension, value)
      """)
    let read = """
      SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0) FROM pg_stat_xact_user_tables
      WHERE schemaname = 'click_tracking' AND relname = 'rollup_count'
      """
    try connection.begin()
    let before = try number(connection, read)
    try CountTables("click_tracking", retention: Self.retention).foldRollups(connection, now: Self.now)
    #expect(try number(connection, read) - before < 50)
    try connection.commit()
    let folded = "SELECT sum(events) FROM click_tracking.rollup_count WHERE dimension = 'minute' AND value ="
    #expect(try number(connection, "\(folded) '2029-11-02T00:00:00Z'") == 4)
    #expect(try number(connection, "\(folded) '2029-12-10T05:00:00Z'") == 2)
  }
}
