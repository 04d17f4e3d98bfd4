import AdCore
import JSON
import LocalProcesses
import Postgres
import Testing

@testable import Operations

/// Which rows a report has and in which order, and what its ratios of money divide by.
@Suite("Reports: order and currencies")
struct ReportOrderTests {
  /// Sixty apps of strangers' names before two that earn: one much in yen, one little in dollars.
  private static let crowd = """
    INSERT INTO ad_selection.minute_count (partition, minute, reason, app, placement, campaign, ad, country, device, size,
      is_test, requests, fills)
    SELECT 0, '2010-07-03 00:00Z', 33, format('an-app-%s', n), 'home', '', '', 'US', 1, 1, false, 1000 + n, 0
    FROM generate_series(1, 60) AS n;
    INSERT INTO ad_selection.minute_count (partition, minute, reason, app, placement, campaign, ad, country, device, size,
      is_test, requests, fills) VALUES
      (0, '2010-07-03 00:00Z', 1, 'zebra', 'home', 'brand', 'one', 'US', 1, 1, false, 2, 2),
      (0, '2010-07-03 00:00Z', 1, 'yak', 'home', 'yen', 'two', 'JP', 1, 1, false, 2, 2);
    INSERT INTO impression_tracking.minute_count (partition, minute, kind, error, app, campaign, ad, placement, country,
      size, device, is_test, events) VALUES
      (0, '2010-07-03 00:00Z', 2, -1, 'an-app-7', 'house', 'house', 'home', 'US', 1, 1, false, 5);
    INSERT INTO billing.minute_revenue (partition, minute, kind, fate, app, developer, advertiser, campaign, ad, placement,
      country, device, size, currency, events, gross, developer_amount, network_amount) VALUES
      (0, '2010-07-03 00:00Z', 1, 1, 'zebra', 'dev', 'adv', 'brand', 'one', 'home', 'US', 1, 1, 'USD', 1, 10000000, 6000000,
        4000000),
      (0, '2010-07-03 00:00Z', 1, 1, 'yak', 'dev', 'adv', 'yen', 'two', 'home', 'JP', 1, 1, 'JPY', 1, 5000000, 3000000,
        2000000);
    """

  @Test("a report that is cut keeps the apps of the most worth, says so, and tells where the rest is")
  func cutByWorth() async throws {
    let pool = try await ReportTests.pool()
    try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(Self.crowd) }
      let report = try report([("group", "app"), ("limit", "5")], pool)
      // All yen are the yak's, of the dollars the golden app's are the most; then impressions, then requests.
      #expect(report.rows.map(\.values) == [["yak"], ["golden"], ["zebra"], ["an-app-7"], ["an-app-60"]])
      #expect(report.isCut && report.rowsTotal == 64)
      #expect(report.cutNote == "5 of 64 apps, the ones with the most revenue")
      #expect(report.restAddress == "/api/v1/reports?group=app&limit=64")
      #expect(report.text.contains("5 of 64 apps, the ones with the most revenue; the rest: --limit 64."))
      #expect(report.json["isCut"] == true && report.json["rowsTotal"] == 64 && report.json["order"] == "worth")
      #expect(report.json["rest"] == "/api/v1/reports?group=app&limit=64")
      #expect(report.total.requests == 26_654 + 60 * 1_000 + 1_830 + 4)
      let whole = try self.report(report.query.words(limit: 64), pool)
      #expect(!whole.isCut && whole.rows.count == 64 && whole.restAddress == nil && whole.cutNote == nil)
      #expect(whole.total == report.total)
      #expect(whole.rows.reduce(into: ReportFigures()) { $0.add($1.figures) } == whole.total)
      let odd = ReportQuery(grouping: [.ad, .country], filter: [.app: "a&b c"], isTest: true, rowsMaximum: 3)
      let address = Report(query: odd, rows: [], rowsTotal: 20_000, total: ReportFigures(), completeUntil: [])
        .restAddress
      #expect(address == "/api/v1/reports?group=ad,country&app=a%26b%20c&traffic=test&limit=10000")
    }
  }

  private func report(_ words: [(name: String, value: String)], _ pool: PostgresPool) throws -> Report {
    try Reports(pool).report(try ReportQuery.read(words).get())
  }

  @Test("rows by time stand in the order of times, and a cut takes the latest")
  func cutByTime() async throws {
    let pool = try await ReportTests.pool()
    try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(Self.crowd) }
      let days = try report([("group", "day"), ("limit", "2")], pool)
      #expect(days.rows.map(\.values) == [["2010-07-02"], ["2010-07-03"]])
      #expect(days.cutNote == "2 of 3 days, the latest" && days.json["order"] == "time")
      let both = try report([("group", "app,hour"), ("limit", "64")], pool)
      #expect(
        both.rows.prefix(3).map(\.values) == [
          ["golden", "2010-07-02T13:00:00Z"], ["idle", "2010-07-02T13:00:00Z"], ["yak", "2010-07-03T00:00:00Z"],
        ])
      #expect(both.cutNote == "64 of 65 rows, the latest, and of one time the ones with the most revenue")
    }
  }

  @Test("M3: with two currencies each eCPM divides by the impressions of its own ads, in reports and views alike")
  func currencies() async throws {
    let pool = try await ReportTests.pool()
    try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(
          """
          INSERT INTO impression_tracking.minute_count (partition, minute, kind, error, app, campaign, ad, placement,
            country, size, device, is_test, events) VALUES
            (0, '2010-07-01 00:00Z', 2, -1, 'golden', 'yen', 'two', 'home', 'JP', 1, 1, false, 200);
          INSERT INTO billing.minute_revenue (partition, minute, kind, fate, app, developer, advertiser, campaign, ad,
            placement, country, device, size, currency, events, gross, developer_amount, network_amount) VALUES
            (0, '2010-07-01 00:00Z', 1, 1, 'golden', 'dev', 'jp', 'yen', 'two', 'home', 'JP', 1, 1, 'JPY', 150,
              900000000000, 540000000000, 360000000000),
            (0, '2010-07-01 00:00Z', 1, 2, 'golden', 'dev', 'jp', 'yen', 'two', 'home', 'JP', 1, 1, 'JPY', 50,
              0, 180000000000, -180000000000);
          """)
      }
      let report = try report([("group", "app"), ("app", "golden")], pool)
      let golden = try #require(report.rows.first).figures.json
      #expect(golden["impressions"] == 9_500)
      let money = golden["revenue"]?.elements ?? []
      #expect(money.map { $0["currency"] } == ["JPY", "USD"])
      #expect(money.map { $0["impressions"] } == [200, 9_300])
      #expect(money.map { $0["ecpm"] } == ["3600.00", "147.55"])
      #expect(money.map { $0["grossEcpm"] } == ["4500.00", "245.91"])
      #expect(report.text.contains("each currency's revenue over the impressions of its campaigns, house ads too"))
      let views = try pool.withConnection { connection throws(PostgresError) in
        try connection.query(
          """
          SELECT currency || ' ' || ecpm || ' ' || gross_ecpm || ' ' || priced_impressions FROM reporting.by_app
          WHERE app = 'golden' ORDER BY 1
          """
        ).map { row throws(PostgresError) in try row.decode(0, String.self) }
      }
      #expect(views == ["JPY 3600.00 4500.00 200", "USD 147.55 245.91 9300"])
    }
  }
}
