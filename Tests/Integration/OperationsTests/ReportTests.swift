import AdCore
import JSON
import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

@Suite("Reports")
struct ReportTests {
  /// Counts as the services write them: the golden case, a test app, and another currency.
  static let counts = """
    INSERT INTO ad_selection.minute_count (partition, minute, reason, app, placement, campaign, ad, country, device, size,
      is_test, requests, fills) VALUES
      (0, '2010-07-01 00:00Z', 1, 'golden', 'home', 'brand', 'one', 'US', 1, 1, false, 10000, 10000),
      (1, '2010-07-02 13:00Z', 33, 'golden', 'home', '', '', 'US', 1, 1, false, 16000, 0),
      (1, '2010-07-02 13:00Z', 36, 'golden', 'home', '', '', 'US', 1, 1, false, 651, 0),
      (1, '2010-07-02 13:00Z', 22, 'idle', 'home', '', '', 'JP', 2, 0, false, 3, 0),
      (1, '2010-07-02 13:00Z', 3, 'golden', 'home', 'test', 'test', 'US', 1, 1, true, 7, 7);
    INSERT INTO impression_tracking.minute_count (partition, minute, kind, error, app, campaign, ad, placement, country,
      size, device, is_test, events) VALUES
      (0, '2010-07-01 00:00Z', 1, -1, 'golden', 'brand', 'one', 'home', 'US', 1, 1, false, 9900),
      (0, '2010-07-01 00:00Z', 2, -1, 'golden', 'brand', 'one', 'home', 'US', 1, 1, false, 9000),
      (1, '2010-07-01 00:01Z', 2, -1, 'golden', 'brand', 'one', 'home', 'US', 1, 1, false, 300),
      (1, '2010-07-01 00:01Z', 4, 5, 'golden', '', '', 'home', '', 0, 0, false, 2),
      (1, '2010-07-01 00:01Z', 2, -1, 'golden', 'test', 'test', 'home', 'US', 1, 1, true, 5);
    INSERT INTO click_tracking.minute_count (partition, minute, kind, verdict, app, campaign, ad, placement, country, size,
      device, is_test, events) VALUES
      (0, '2010-07-01 00:00Z', 1, 1, 'golden', 'brand', 'one', 'home', 'US', 1, 1, false, 1097),
      (0, '2010-07-01 00:00Z', 1, 3, 'golden', 'brand', 'one', 'home', 'US', 1, 1, false, 40),
      (0, '2010-07-01 00:00Z', 2, 0, 'golden', 'brand', 'one', 'home', 'US', 1, 1, false, 6);
    INSERT INTO billing.minute_revenue (partition, minute, kind, fate, app, developer, advertiser, campaign, ad, placement,
      country, device, size, currency, events, gross, developer_amount, network_amount) VALUES
      (0, '2010-07-01 00:00Z', 1, 1, 'golden', 'dev', 'adv', 'brand', 'one', 'home', 'US', 1, 1, 'USD', 9300,
        93000000000, 55800000000, 37200000000),
      (0, '2010-07-01 00:00Z', 2, 1, 'golden', 'dev', 'adv', 'brand', 'one', 'home', 'US', 1, 1, 'USD', 1097,
        2194000000000, 1316400000000, 877600000000);
    """

  /// The app that has traffic; its body is not read.
  private static let registered = """
    INSERT INTO catalog.record (key, kind, body, version, change_number) VALUES ('app/golden', 'app', '{}', 1, 1);
    """

  static func pool() async throws -> PostgresPool {
    let pool = try await TestDatabase.pool()
    try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(registered + counts) }
    }
    return pool
  }

  private func report(_ words: [(name: String, value: String)]) async throws -> Report {
    let pool = try await Self.pool()
    return try await onOwnThread { try Reports(pool).report(try ReportQuery.read(words).get()) }
  }

  @Test("M1 to M3: the golden case comes out to the last digit")
  func golden() async throws {
    let report = try await report([("group", "app")])
    let golden = try #require(report.rows.first { $0.values == ["golden"] }).figures.json
    #expect(golden["requests"] == 26_651)
    #expect(golden["impressions"] == 9_300)
    #expect(golden["clicks"] == 1_097)
    #expect(golden["fillRate"] == "34.90")
    #expect(golden["clickThroughRate"] == "11.80")
    let money = try #require(golden["revenue"]?.elements?.first)
    #expect(money["gross"] == "2287.00")
    #expect(money["developer"] == "1372.20")
    #expect(money["network"] == "914.80")
    #expect(money["ecpm"] == "147.55")
    #expect(money["grossEcpm"] == "245.91")
    #expect(golden["errors"] == ["2": 651, "3": 16_000, "5": 2])
    #expect(report.text.contains("26,651") && report.text.contains("34.90 %"))
  }

  @Test("M1, A1: requests without their app's key are one figure of the network, and in no row")
  func withoutAppKey() async throws {
    let none = try await report([("group", "app")])
    #expect(none.json["requestsWithoutAppKey"] == 0 && !none.text.contains("app's key"))
    let pool = try await Self.pool()
    try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(
          """
          INSERT INTO ad_selection.keyless_count VALUES
            (0, '2010-06-30', 16, 5), (0, '2010-07-01', 16, 1000), (1, '2010-07-01', 17, 30), (0, '2010-07-02', 18, 400),
            (0, '2010-07-03', 16, 7000)
          """)
      }
      for (from, until, figure) in [
        ("2010-07-01", "2010-07-03", 1_430), ("2010-07-01T12:00:00Z", "2010-07-02T00:00:00Z", 1_030),
        ("2010-07-02", "2010-07-02T00:01:00Z", 400), ("2010-07-03", "2031-01-01", 7_000),
      ] as [(String, String, Int64)] {
        let words = [(name: "group", value: "app"), (name: "from", value: from), (name: "until", value: until)]
        let report = try Reports(pool).report(try ReportQuery.read(words).get())
        #expect(report.json["requestsWithoutAppKey"] == .integer(figure))
        #expect(report.text.contains("\(TextTable.grouped(figure)) requests came without their app's key"))
      }
      let all = try Reports(pool).report(ReportQuery(grouping: [.app]))
      #expect(all.requestsWithoutAppKey == 8_435)
      #expect(all.total.requests == none.total.requests && all.rows.count == none.rows.count)
    }
  }

  @Test("B4: what waits for budget is told beside the revenue, of live traffic only")
  func waiting() async throws {
    let pool = try await Self.pool()
    let row = """
      INSERT INTO billing.waiting_row (serve_id, kind, id_hash, partition, batch_number, event_time, terms, price, allotment,
        budget_day, advertiser, campaign, placement, country, device, size, currency, position)
      SELECT gen_random_uuid(), 2, n, 0, 1, now(), 7, 2000000000, 1, 14800, 'adv', 'brand', 'home', 'US', 1, 1, 'USD', n
      FROM generate_series(1, 3) AS n
      """
    try await onOwnThread {
      let none = try Reports(pool).report(ReportQuery())
      #expect(none.json["waiting"] == .list([]) && !none.text.contains("wait for"))
      _ = try pool.withConnection { connection throws(PostgresError) in try connection.execute(sql: row) }
      let report = try Reports(pool).report(ReportQuery())
      #expect(
        report.json["waiting"] == .list([["kind": "click", "currency": "USD", "events": 3, "price": "6.00"]]))
      #expect(report.text.contains("3 clicks of USD 6.00 wait for budget"))
      #expect(try Reports(pool).report(try ReportQuery.read([("traffic", "test")]).get()).waiting.isEmpty)
    }
  }

  @Test("B8: gross and net are both in the report, and the difference by reason")
  func grossAndNet() async throws {
    let pool = try await Self.pool()
    try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(Self.invalid) }
      let report = try Reports(pool).report(try ReportQuery.read([("group", "app"), ("app", "golden")]).get())
      let golden = try #require(report.rows.first).figures.json
      #expect(golden["impressions"] == 9_300 && golden["grossImpressions"] == 9_307)
      #expect(golden["clicks"] == 1_097 && golden["grossClicks"] == 1_195)
      #expect(golden["invalid"]?["impressions"] == ["impossible": 7])
      #expect(golden["invalid"]?["clicks"] == ["accidental": 40, "impossible": 8, "repeat": 50])
      #expect(golden["clickThroughRate"] == "11.80" && golden["fillRate"] == "34.90")
      #expect(report.text.contains("accidental:40 impossible:8 repeat:50 views impossible:7"))
      let quality = try pool.withConnection { connection throws(PostgresError) in
        try connection.query(
          """
          SELECT sum(gross_impressions)::bigint, sum(net_impressions)::bigint, sum(gross_clicks)::bigint,
            sum(net_clicks)::bigint
          FROM reporting.traffic_quality WHERE app = 'golden' AND NOT is_test
          """
        ).first.map { row throws(PostgresError) in
          try (0..<4).map { column throws(PostgresError) in try row.decode(column, Int64.self) }
        }
      }
      #expect(quality == [9_307, 9_300, 1_195, 1_097])
    }
  }

  /// Views and taps that cannot be, and repeats, of one hour; some of test traffic.
  private static let invalid = """
    INSERT INTO impression_tracking.minute_count (partition, minute, kind, error, app, campaign, ad, placement, country,
      size, device, is_test, events) VALUES
      (0, '2010-07-01 00:00Z', 5, -1, 'golden', 'brand', 'one', 'home', 'US', 1, 1, false, 7),
      (0, '2010-07-01 00:00Z', 5, -1, 'golden', 'brand', 'one', 'home', 'US', 1, 1, true, 9);
    INSERT INTO click_tracking.minute_count (partition, minute, kind, verdict, app, campaign, ad, placement, country, size,
      device, is_test, events) VALUES
      (0, '2010-07-01 00:00Z', 1, 8, 'golden', 'brand', 'one', 'home', 'US', 1, 1, false, 8),
      (1, '2010-07-01 00:00Z', 1, 2, 'golden', 'brand', 'one', 'home', 'US', 1, 1, false, 50);
    """

  @Test("B8: an app's hour beyond a limit is flagged; the flag follows the counts, and stays when the limit is raised")
  func anomalies() async throws {
    let pool = try await Self.pool()
    try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(Self.invalid) }
      let anomalies = Anomalies(pool)
      func flags(_ words: [(name: String, value: String)] = []) throws -> [String] {
        try anomalies.list(try ReportQuery.read(words).get()).items.map {
          "\($0.hour.utcText) \($0.app) \($0.kind) \($0.events)/\($0.ofEvents) \($0.percent) of \($0.limitPercent)"
        }
      }
      let start = try #require(Timestamp(utcText: "2010-07-01T00:00:00Z"))
      // 50 of 1,195 taps, 15 of 10,502 events, 40 of 1,195; the click rate is the golden case's 11.80 %.
      try anomalies.flag(since: start, limits: AnomalyLimits())
      #expect(try flags().isEmpty)
      let strict = AnomalyLimits(basisPoints: [.repeats: 400, .impossible: 14, .accidental: 335, .clickRate: 1_180])
      try anomalies.flag(since: start.advanced(byMilliseconds: 3_600_000), limits: strict)
      #expect(try flags().isEmpty)
      try anomalies.flag(since: start, limits: strict)
      let expected = [
        "2010-07-01T00:00:00Z golden impossible 15/10502 0.14 of 0.14",
        "2010-07-01T00:00:00Z golden repeats 50/1195 4.18 of 4.00",
      ]
      #expect(try flags() == expected)
      #expect(try flags([("app", "idle")]).isEmpty)
      let cut = try anomalies.list(try ReportQuery.read([("limit", "1")]).get())
      #expect(cut.items.count == 1 && cut.total == 2)
      #expect(cut.json(\.json)["isCut"] == true && cut.json(\.json)["rowsTotal"] == 2)
      #expect(Anomaly.table(cut).contains("The latest 1 of 2 flags; --limit takes more, up to 10,000."))
      #expect(try anomalies.flaggedApps(since: start) == ["repeats": 1, "impossible": 1])
      try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(
          """
          UPDATE click_tracking.minute_count SET events = events + 1
          WHERE verdict = vocabulary.click_verdict('repeat')
          """)
      }
      try anomalies.flag(since: start, limits: strict)
      try anomalies.flag(since: start, limits: AnomalyLimits())
      #expect(try flags([("from", "2010-07-01")]).last == "2010-07-01T00:00:00Z golden repeats 51/1196 4.26 of 4.00")
      #expect(try flags([("until", "2010-07-01")]).isEmpty)
      let few = AnomalyLimits(basisPoints: [.repeats: 0], eventsMinimum: 1_197)
      try anomalies.flag(since: start.advanced(byMilliseconds: -1), limits: few)
      #expect(try flags().count == 2)
    }
  }

  @Test("A2: errors that were injected are shown with their codes, in test traffic only")
  func injectedErrors() async throws {
    let pool = try await Self.pool()
    try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(
          """
          INSERT INTO ad_selection.minute_count (partition, minute, reason, app, placement, campaign, ad, country, device,
            size, is_test, injected_error, requests, fills)
          SELECT 0, '2010-07-01 00:00Z', 40, 'golden', 'home', '', '', 'US', 1, 1, true, code, code + 1, 0
          FROM unnest(ARRAY[0, 2, 5]) AS code
          """)
      }
      let report = try Reports(pool).report(try ReportQuery.read([("group", "app"), ("traffic", "test")]).get())
      let golden = try #require(report.rows.first { $0.values == ["golden"] }).figures.json
      #expect(golden["errors"] == ["0": 1, "2": 3, "5": 6])
    }
  }

  @Test("M6: a ratio with a zero denominator is absent, and money of nobody is none")
  func absent() async throws {
    let report = try await report([("group", "app"), ("app", "idle")])
    let idle = try #require(report.rows.first).figures.json
    #expect(idle["fillRate"] == "0.00")
    #expect(idle["clickThroughRate"] == .null)
    #expect(idle["revenue"] == .list([]))
    #expect(idle["errors"] == ["4": 3])
    let nothing = try await self.report([("app", "nobody")])
    #expect(nothing.total.json["fillRate"] == .null)
  }

  @Test("A2: test traffic is in no live report, and has its own")
  func test() async throws {
    let report = try await report([("traffic", "test")])
    #expect(report.total.requests == 7)
    #expect(report.total.impressions == 5)
    #expect(report.total.revenue.isEmpty)
  }

  @Test(
    "M6: every way of grouping adds up to the same total",
    arguments: ReportDimension.allCases.map { [$0] } + [[.day, .app, .device], []])
  func groupings(grouping: [ReportDimension]) async throws {
    let report = try await report([("group", grouping.map(\.rawValue).joined(separator: ","))])
    #expect(report.total.requests == 26_654)
    #expect(report.total.impressions == 9_300)
    #expect(report.total.revenue.map(\.gross) == [2_287_000_000_000])
    #expect(report.rows.allSatisfy { $0.values.count == grouping.count })
    #expect(report.rows.isEmpty == grouping.isEmpty)
  }

  @Test("times and filters choose; days and hours are in UTC")
  func filters() async throws {
    let first = try await report([("group", "hour"), ("until", "2010-07-02")])
    #expect(first.rows.map(\.values) == [["2010-07-01T00:00:00Z"]])
    let second = try await report([("group", "day"), ("from", "2010-07-02T00:00:00Z"), ("country", "US")])
    #expect(second.rows.map(\.values) == [["2010-07-02"]])
    #expect(second.total.requests == 16_651)
  }

  @Test("the views for dashboards say the same, each column has a comment, and the role reads them alone")
  func views() async throws {
    let pool = try await Self.pool()
    try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        let golden = try connection.query(
          """
          SELECT fill_rate::text, click_through_rate::text, trim_scale(gross)::text, trim_scale(developer)::text, ecpm::text,
            gross_ecpm::text, errors::text FROM reporting.by_app WHERE app = 'golden'
          """)
        #expect(golden.count == 1)
        let errors = #"{"loadingThrottled": 651, "inventoryUnavailable": 16000, "bannerVisibleWithoutContent": 2}"#
        let expected = ["34.90", "11.80", "2287", "1372.2", "147.55", "245.91", errors]
        for (column, text) in expected.enumerated() { #expect(try golden[0].decode(column, String.self) == text) }
        let idle = try connection.query("SELECT click_through_rate::text FROM reporting.by_app WHERE app = 'idle'")
        #expect(try idle[0].decode(0, String?.self) == nil)
        let silent = try connection.query(
          """
          SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
          WHERE c.relnamespace = 'reporting'::regnamespace AND c.relkind = 'v'
            AND col_description(c.oid, a.attnum) IS NULL
          """)
        #expect(silent.isEmpty, "columns without a comment: \(silent.map { try? $0.decode(0, String.self) })")
        try connection.executeScript("SET ROLE handbill_reporting")
        #expect(try connection.query("SELECT * FROM reporting.by_day").count == 2)
        #expect(throws: PostgresError.self) { try connection.query("SELECT * FROM billing.balance") }
        try connection.executeScript("RESET ROLE; SET ROLE handbill_console")
        #expect(try connection.query("SELECT * FROM billing.balance").isEmpty)
        #expect(throws: PostgresError.self) { try connection.execute(sql: "DELETE FROM billing.balance") }
      }
    }
  }

  @Test("S8: reports and explanations name every size and device", arguments: AdSize.allCases)
  func names(size: AdSize) async throws {
    let pool = try await TestDatabase.pool()
    let device = try #require(size.devices.first)
    let insert = """
      INSERT INTO click_tracking.minute_count VALUES (0, '2026-07-01Z', \(TapKind.click.number),
        \(ClickVerdict.limited.number), 'app', 'campaign', 'ad', 'home', 'US', \(size.number), \(device.number), false, 3)
      """
    let query = ReportQuery(grouping: [.size, .device])
    let report = try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(insert) }
      return try Reports(pool).report(query)
    }
    #expect(report.rows.map(\.values) == [[size.name, device.name]])
    #expect(report.total.taps == 3 && report.total.invalidClicks == ["limited": 3])
    #expect(StoredMeaning.size(Int64(size.number)).name == size.name)
    #expect(StoredMeaning.device(Int64(device.number)).name == device.name)
  }

  @Test(
    "the database rounds a half up, as the program does", arguments: [(1, 3), (2, 3), (5, 1_000), (-5, 1_000), (7, 0)])
  func rounding(dividend: Int64, divisor: Int64) async throws {
    let pool = try await TestDatabase.pool()
    let text = try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.query("SELECT reporting.hundredths($1, $2)::text", [Int128(dividend), Int128(divisor)])[0]
          .decode(0, String?.self)
      }
    }
    #expect(text == Hundredths.perThousand(revenue: Int128(dividend) * 1_000_000, impressions: divisor)?.description)
  }
}
