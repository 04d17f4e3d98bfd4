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
    let day = ReportQuery(grouping: [.app, .country], from: from, until: from.advanced(byMilliseconds: 86_400_000))
    let kinds = ["minute_count", "packed_count", "minute_revenue", "packed_revenue"]
    #expect(try dayTables(day, connection) == Set(kinds.map { "\($0)_\(name)" }))
    // Without its times it would read more.
    #expect(try dayTables(ReportQuery(grouping: [.app, .country]), connection).count > 2 * kinds.count)
  }

  @Test("a report of one dimension and whole hours reads rollups, and of several, or of parts of hours, all counts")
  func rollups() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    defer { connection.close() }
    func readsRollups(_ query: ReportQuery) throws -> Bool {
      let plan = try connection.query("EXPLAIN " + ReadReport.sql, ReadReport(query: query).parameters)
        .map { try $0.decode(0, String.self) }.joined()
      let isRolledUp = plan.contains(/on rollup_(count|revenue)/)
      #expect(isRolledUp != plan.contains(/on (hour|day)_(count|revenue)/))
      return isRolledUp
    }
    let day = Timestamp(milliseconds: 1_898_899_200_000)  // 2030-03-05Z
    let halfPast = day.advanced(byMilliseconds: 1_800_000)
    #expect(try readsRollups(ReportQuery()))
    #expect(try readsRollups(ReportQuery(grouping: [.app], from: day)))
    #expect(try readsRollups(ReportQuery(grouping: [.country, .hour], filter: [.country: "US", .day: "2030-03-05"])))
    #expect(try !readsRollups(ReportQuery(grouping: [.app], filter: [.country: "US"])))
    #expect(try !readsRollups(ReportQuery(grouping: [.app], from: halfPast)))
    #expect(try !readsRollups(ReportQuery(from: day, until: halfPast)))
  }

  /// An install of each day's ad, so many days after it was served.
  private static let installs = """
    SELECT public.keep_days(t::regclass, '2030-03-06', 125, 1, 125)
    FROM unnest(ARRAY['click_tracking.conversion', 'click_tracking.click_row']) AS t;
    INSERT INTO click_tracking.terms VALUES (7, '2030-03-06', 'app', 'dev', 'adv', 'c', 'a', 1, 1, 'USD', 6000, 1, false);
    CREATE TEMPORARY TABLE told AS SELECT public.first_uuid_at(served) AS id, served + after * interval '1 day' AS time, after
    FROM generate_series('2029-11-05 12:00Z'::timestamptz, '2030-03-05 12:00Z', '1 day') AS served,
      unnest('{0,90}'::int[]) AS after;
    INSERT INTO click_tracking.click_row SELECT DISTINCT id, 1, 0, 1, 1, vocabulary.click_verdict('billable'), false, now(),
      now(), 'home', 'US', 1, 1, 1, 1, 1, false, false, true, 7 FROM told;
    INSERT INTO click_tracking.conversion (serve_id, id_hash, batch_number, value, event_time, arrival, partition, kind, is_test,
      app, currency)
    SELECT id, after, 1, 5, time, time, 0, vocabulary.conversion_kind('purchase'), false, 'shop', 'USD' FROM told;
    """

  @Test("M8: what came of clicks is read of the ads that it can have come of, and of none before; nothing is left out")
  func conversions() async throws {
    let pool = try await TestDatabase.pool()
    let day = Windows.dayMilliseconds
    let from = Timestamp(milliseconds: 1_898_899_200_000)  // 2030-03-05Z
    try await onOwnThread {
      let (tables, told) = try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(Self.installs)
        let read = ReadConversions(query: ReportQuery(from: from), from: from.advanced(byMilliseconds: day / 2))
        let lines = try connection.query("EXPLAIN " + ReadConversions.sql, read.parameters)
          .map { line throws(PostgresError) in try line.decode(0, String.self) }
        let sql = "SELECT day::text || ' ' || conversions FROM reporting.conversion ORDER BY day DESC"
        let told = try connection.query(sql).map { row throws(PostgresError) in try row.decode(0, String.self) }
        let names = lines.flatMap { $0.matches(of: /on ((?:conversion|click_row)_\d{8})\b/) }
        return (Set(names.map { String($0.output.1) }), told)
      }
      // From 90 days before the first one that is asked for, of both.
      for table in ["conversion", "click_row"] {
        #expect(tables.filter { $0.hasPrefix(table) }.min() == "\(table)_20291205")
      }
      func list(_ query: ReportQuery) throws -> [String] {
        try Conversions(pool).list(query, now: from).items.map { "\($0.day) \($0.conversions)" }
      }
      #expect(told.contains("2030-03-05 2") && told.contains("2029-11-05 1"))
      #expect(try list(ReportQuery(from: from)) == told.filter { $0 >= "2030-03-05" })
      #expect(try list(ReportQuery(from: Timestamp(milliseconds: 0))) == told)
      let until = from.advanced(byMilliseconds: -10 * day)
      #expect(try list(ReportQuery(until: until)) == told.filter { $0 >= "2030-01-23" && $0 < "2030-02-23" })
      #expect(try list(ReportQuery()) == told.filter { $0 >= "2030-02-02" })
    }
  }
}
