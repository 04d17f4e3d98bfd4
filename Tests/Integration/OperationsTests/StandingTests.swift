import AdCore
import JSON
import Postgres
import TestServices
import TestValues
import Testing

@testable import Operations

@Suite("A7: apps' standings, measured")
struct StandingMeasureTests {
  private static let now = Timestamp(utcText: "2030-03-08T12:00:00Z") ?? Timestamp(milliseconds: 0)

  /// Serves of the app `weather`, on a day so many days ago: ids by number, so that others can speak of the same ad.
  private static func serve(_ daysAgo: Int, _ number: String) -> String {
    """
    (lpad(to_hex((extract(epoch FROM timestamptz '2030-03-08 10:00Z' - \(daysAgo) * interval '1 day') * 1000)::bigint), 12, '0')
      || '70008000' || lpad(to_hex(\(number)), 12, '0'))::uuid
    """
  }

  private static func stopped(
    daysAgo: Int = 0, serves: Int, times: Int = 1, kind: String = "blocked", app: String = "weather",
    isTest: Bool = false
  ) -> String {
    """
    INSERT INTO click_tracking.stopped_action (serve_id, kind, id_hash, partition, batch_number, event_time, app, campaign, ad,
      placement, country, size, device, is_test)
    SELECT \(serve(daysAgo, "n")), vocabulary.tap_kind('\(kind)'), again, 0, 1,
      timestamptz '2030-03-08 10:00Z' - \(daysAgo) * interval '1 day' + again * interval '1 second',
      '\(app)', 'c', 'a', 'home', 'US', 1, 1, \(isTest)
    FROM generate_series(1, \(serves)) AS n, generate_series(1, \(times)) AS again;
    """
  }

  private static func clicks(daysAgo: Int = 0, _ count: Int, app: String = "weather") -> String {
    """
    INSERT INTO click_tracking.minute_count (partition, minute, kind, verdict, app, campaign, ad, placement, country, size,
      device, is_test, events)
    VALUES (0, timestamptz '2030-03-08 10:00Z' - \(daysAgo) * interval '1 day', vocabulary.tap_kind('click'),
      vocabulary.click_verdict('billable'), '\(app)', 'c', 'a', 'home', 'US', 1, 1, false, \(count));
    """
  }

  private static let days = """
    SELECT public.keep_days(t::regclass, '2030-03-09', 12, 1, 20)
    FROM unnest(ARRAY['click_tracking.stopped_action', 'click_tracking.click_row']) AS t;
    """

  /// A catalogue with the app, and what was told of it.
  private func world(_ sql: String...) async throws -> PostgresPool {
    let pool = try await TestDatabase.pool(size: 1)
    _ = try CatalogStore(pool).apply(Samples.read(Samples.file)).get()
    try pool.withConnection { connection throws(PostgresError) in
      try connection.executeScript(Self.days + sql.joined())
    }
    return pool
  }

  private func measure(_ pool: PostgresPool, daysLater: Int64 = 0) throws -> AppStanding? {
    _ = try Standings(pool).measure(now: Self.now.advanced(byMilliseconds: daysLater * 86_400_000))
    for case .standing(let standing)? in try CatalogStore(pool).list(kind: .standing).map(\.record) { return standing }
    return nil
  }

  @Test("A7: what was stopped, of what was tapped, lowers the offer by the settings' rules, and the log of it is kept")
  func lowers() async throws {
    let pool = try await world(Self.stopped(serves: 100), Self.clicks(100))
    // 100 stopped of 200 tapped and the prior's 100: 33.33 %, 13.33 beyond what is tolerated, of 80.
    let standing = try #require(try measure(pool))
    #expect(standing.offerPartsPerMillion == 866_667 && (standing.stopped, standing.tapped) == (100, 200))
    #expect(try Standings(pool).measure(now: Self.now) == .init(changes: 0, loweredApps: 1))
    let settings = ["standing.priorTaps": "0", "standing.toleratedBasisPoints": "0", "standing.floorBasisPoints": "0"]
    _ = try CatalogStore(pool).set(key: "settings", settings.map { (path: $0.key, value: $0.value) }).get()
    #expect(try measure(pool)?.offerPartsPerMillion == 500_000)
    let rows = try pool.withConnection { connection throws(PostgresError) in
      try connection.query(
        "SELECT count(*), count(DISTINCT change_number) FROM catalog.history WHERE key = 'standing/weather'")
    }
    #expect(try rows[0].decode(0, Int64.self) == 2 && rows[0].decode(1, Int64.self) == 2)
    let shown = try Reports(pool).report(ReportQuery(grouping: [], filter: [.app: "weather"])).standings
    #expect(shown.map(\.offeredPercent) == ["50.00"] && shown.map(\.stopped) == [100])
  }

  @Test("A7: each served ad counts once, however often its actions are told as stopped, and a stopped click once")
  func once() async throws {
    let pool = try await world(
      Self.stopped(serves: 3, times: 500), Self.stopped(serves: 3, times: 200, kind: "cancelled"), Self.clicks(150),
      // One of the three was tapped to count before it was cancelled: it is one of the 150.
      """
      INSERT INTO click_tracking.click (serve_id, id_hash, partition, batch_number, sequence, verdict, was_parked, event_time,
        arrival, expires_at, app, developer, advertiser, campaign, ad, placement, country, device, size, impression_price,
        click_price, currency, share_basis_points, allotment, budget_day, client_hash, is_test, is_accidental, is_judged)
      VALUES (\(Self.serve(0, "1")), 7, 0, 1, 1, vocabulary.click_verdict('billable'), false, '2030-03-08 10:00Z',
        '2030-03-08 10:00Z', '2030-03-08 10:15Z', 'weather', 'd', 'adv', 'c', 'a', 'home', 'US', 1, 1, 1, 2, 'USD', 6000, 1, 1,
        1, false, false, true);
      """)
    let days = try pool.withConnection { connection throws(PostgresError) in
      try connection.run(ReadActionDays(firstDay: Self.now.milliseconds / 86_400_000 - 6))
    }
    #expect(days.map(\.stopped) == [3] && days.map(\.tapped) == [152])
    #expect(try measure(pool) == nil)
  }

  @Test("A7: where nobody measured for weeks, a standing of which no day is left is gone at once")
  func forgotten() async throws {
    let pool = try await world(Self.stopped(serves: 400))
    #expect(try measure(pool) != nil)
    #expect(try measure(pool, daysLater: 30) == nil)
  }

  @Test("A7: it recovers by itself as days pass, and at the end the standing is gone")
  func recovers() async throws {
    let pool = try await world(Self.stopped(serves: 400))
    var offers = [try measure(pool)?.offerPartsPerMillion ?? AppStanding.whole]
    for day in Int64(1)...7 {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(Self.clicks(daysAgo: Int(-day), 100))
      }
      offers.append(try measure(pool, daysLater: day)?.offerPartsPerMillion ?? AppStanding.whole)
    }
    #expect(offers == offers.sorted() && offers[0] == 400_000 && offers[7] == AppStanding.whole)
    // A day later it weighs six sevenths: 2,400 of 2,400, the prior's 700 and the day's 700.
    #expect(offers[1] == 568_422)
    #expect(try CatalogStore(pool).list(kind: .standing).isEmpty)
    let all = try CatalogStore(pool).list(kind: .standing, includesDeleted: true)
    #expect(all.count == 1 && all[0].deletedAt != nil)
  }

  @Test(
    "A7, A2: test traffic lowers nobody; an app that is not in the catalogue has no standing, and loses it with its record"
  )
  func others() async throws {
    let pool = try await world(
      Self.stopped(serves: 500, isTest: true), Self.stopped(daysAgo: 1, serves: 500, app: "stranger"))
    #expect(try measure(pool) == nil)
    try pool.withConnection { connection throws(PostgresError) in
      try connection.executeScript(Self.stopped(daysAgo: 2, serves: 500))
    }
    #expect(try measure(pool) != nil)
    let keys = try CatalogStore(pool).list(kind: .appKey).map(\.key)
    _ = try CatalogStore(pool).delete(keys: ["app/weather"] + keys).get()
    #expect(try measure(pool) == nil)
  }

  @Test("A7: nobody writes a standing by hand, in no file and no member")
  func measured() async throws {
    let pool = try await world(Self.stopped(serves: 500))
    _ = try #require(try measure(pool))
    let change = try CatalogStore(pool).set(
      key: "standing/weather", [(path: "offerPartsPerMillion", value: "1000000")])
    guard case .failure(let problems) = change else {
      Issue.record("it was written")
      return
    }
    #expect(problems.description.contains("measured by the console"))
    #expect(Samples.problems(#"{"standings": []}"#).count == 1)
  }

  @Test("The console's role writes standings, and nothing else of the catalogue")
  func rights() async throws {
    let pool = try await world(Self.stopped(serves: 500))
    try pool.withConnection { connection throws(PostgresError) in
      _ = try connection.query("SET ROLE handbill_console")
    }
    #expect(try measure(pool)?.app.text == "weather")
    let refused = #expect(throws: PostgresError.self) {
      try pool.withConnection { connection throws(PostgresError) in
        _ = try connection.query("UPDATE catalog.record SET body = '{}' WHERE key = 'standing/weather'")
      }
    }
    #expect("\(String(describing: refused))".contains("permission denied"))
  }
}
