import AdCore
import JSON
import LocalProcesses
import Postgres
import TestServers
import TestServices
import TestValues
import Testing

@testable import Operations

@Suite("Sealed days")
struct SealingTests {
  /// When the first four days can be sealed, and the fifth cannot.
  static let now = Timestamp(milliseconds: 1_899_043_200_000)  // 2030-03-06T16:00Z

  /// Five days on a database of their own.
  struct Days {
    private static let open = DatabaseTemplate("days of traffic", copyOf: TestDatabase.migrated) { url in
      let days = try Days(url)
      defer { days.pool.close() }
      try days.run(DaysOfTraffic.rows)
    }
    private static let sealed = DatabaseTemplate("sealed days of traffic", copyOf: open) { url in
      let days = try Days(url)
      defer { days.pool.close() }
      _ = try days.seal()
    }

    let pool: PostgresPool

    /// - Parameter sealed: whether the first four are.
    init(sealed: Bool = false) async throws {
      try self.init(try await SharedPostgres.database(copyOf: sealed ? Self.sealed : Self.open))
    }

    init(_ url: String) throws {
      pool = PostgresPool(try PostgresConfiguration(url, applicationName: "test"), size: 4)
    }

    func run(_ script: String) throws {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(script) }
    }

    func number(_ sql: String) throws -> Int64 {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.query("SELECT (\(sql))::bigint").first?.decode(0) ?? -1
      }
    }

    /// Seals what can be; what came last.
    func seal(now: Timestamp = SealingTests.now) throws -> DaySealer.Result {
      while true {
        let result = try DaySealer(pool).sealNext(now: now)
        guard case .sealed = result else { return result }
      }
    }

    /// Drops every day that is sealed, and the batches; how many days stay.
    func drop() throws -> Int64 {
      var stay: Int64 = 0
      try run(
        """
        SELECT public.forget_batches(s, '2030-12-31Z', 1000)
        FROM unnest(ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing']) AS s;
        SELECT billing.forget_journals(1000000)
        """)
      for table in ServePieces.tables {
        try pool.withConnection { connection throws(PostgresError) in
          var dropped: PostgresDate?
          repeat {
            let row = try connection.query(
              "SELECT dropped, unsealed FROM public.drop_day($1::text::regclass, '2030-12-31')", [table])[0]
            dropped = try row.decode(0)
            stay = Int64(try row.decode(1, Int32.self))
          } while dropped != nil
        }
      }
      return stay
    }

    func sealedUntil() throws -> String? {
      try pool.snapshot { connection throws(PostgresError) in try SealedHead.read(in: connection).sealedUntil?.utcText }
    }
  }

  @Test("days are sealed and dropped, and all accounts agree before and after")
  func sealing() async throws {
    let days = try await Days()
    try await onOwnThread {
      let before = try Reconciler(days.pool).reconcile()
      #expect(before.differences == 0, "\(before.text)")
      #expect(before.sealedUntil == nil)
      let end = try days.seal()
      guard case .nothingDue(let until) = end else {
        Issue.record("\(end)")
        return
      }
      #expect(until?.utcText == "2030-03-05T00:00:00Z")
      let sealed = try Reconciler(days.pool).reconcile()
      #expect(sealed.differences == 0, "\(sealed.text)")
      _ = try days.drop()
      #expect(
        try days.number("SELECT count(*) FROM billing.charge WHERE serve_id < public.first_uuid_of_day('2030-03-05')")
          == 0)
      #expect(try days.number("SELECT min(batch_number) FROM billing.posting") > 1)
      let after = try Reconciler(days.pool).reconcile()
      #expect(after.differences == 0, "\(after.text)")
      #expect(after.finality == before.finality)
      #expect(after.sealedUntil?.utcText == "2030-03-05T00:00:00Z")
      #expect(after.json["sealedUntil"] == "2030-03-05T00:00:00Z")
      // Some were served before midnight and seen after it.
      #expect(try days.number("SELECT count(*) FROM sealed.revenue_ahead") > 0)
      #expect(try days.number("SELECT count(*) FROM sealed.count_ahead") > 0)
      #expect(try days.number("SELECT count(*) FROM sealed.day") == 8)
    }
  }

  /// Rows of the first day.
  private static let firstDay = "serve_id < public.first_uuid_of_day('2030-03-02')"
  private static let anyPosting = """
    ALTER TABLE billing.posting DISABLE TRIGGER USER;
    UPDATE billing.posting SET credit = credit + 1 WHERE (partition, batch_number, account) =
      (SELECT partition, batch_number, account FROM billing.posting WHERE account LIKE 'developer:%' ORDER BY 1, 2, 3 LIMIT 1);
    ALTER TABLE billing.posting ENABLE TRIGGER USER
    """

  @Test("what the console flagged goes with the oldest day of decisions, when the next one is sealed")
  func flags() async throws {
    let days = try await Days()
    try await onOwnThread {
      try days.run(
        """
        INSERT INTO console.anomaly (app, hour, kind, events, of_events, limit_basis_points)
        SELECT 'app' || app, '2030-02-26Z'::timestamptz + hour * interval '1 hour', 1, 1, 1, 1
        FROM generate_series(1, 200) AS app, generate_series(0, 95) AS hour
        """)
      let context = ComparisonPaceTests.context(SealWatch.metrics)
      SealWatch(pool: days.pool, context: context).run { $0 < 600_000 }
      #expect(try days.sealedUntil() == "2030-03-05T00:00:00Z")
      #expect(try days.number("SELECT count(*) FROM console.anomaly") == 200 * 24)
      #expect(try days.number("SELECT count(*) FROM console.anomaly WHERE hour < '2030-03-01Z'") == 0)
      #expect(try days.drop() > 0)
      #expect(try Anomalies(days.pool).forget() == 200 * 24)
    }
  }

  @Test(
    "a day of which something differs is not sealed, not dropped, and named",
    arguments: [
      (
        "I7a",
        "DELETE FROM billing.charge WHERE serve_id = (SELECT serve_id FROM billing.charge ORDER BY serve_id LIMIT 1)"
      ),
      ("I6", anyPosting),
      (
        "I3",
        "DELETE FROM impression_tracking.impression WHERE serve_id = "
          + "(SELECT serve_id FROM impression_tracking.impression ORDER BY serve_id LIMIT 1)"
      ),
      ("I7a", "UPDATE billing.charge SET price = 1 WHERE \(firstDay)"),
      ("I7a", "UPDATE billing.charge SET share_basis_points = share_basis_points + 1 WHERE \(firstDay)"),
      ("I7b", "UPDATE ad_selection.decision SET share_basis_points = 1 WHERE \(firstDay) AND NOT is_test"),
      ("M6", "DELETE FROM billing.minute_revenue WHERE minute < '2030-03-01 06:00Z'"),
      ("M6", "UPDATE click_tracking.minute_count SET events = 2 WHERE minute < '2030-03-01 06:00Z'"),
      ("I5", "UPDATE billing.allotment SET charged = charged - 1 WHERE state = vocabulary.allotment_state('ended')"),
      ("I3", "DELETE FROM billing.batch WHERE batch_number = 2"),
    ])
  func planted(rule: String, change: String) async throws {
    let days = try await Days()
    try await onOwnThread {
      try days.run(change)
      let result = try days.seal()
      guard case .differs(let day, let due, let checks) = result else {
        Issue.record("\(result)")
        return
      }
      #expect(day.utcText == "2030-03-01T00:00:00Z" && due == 4)
      #expect(checks.contains { $0.rule == rule && !$0.examples.isEmpty }, "\(checks)")
      #expect(try days.sealedUntil() == nil)
      let rows = try days.number("SELECT count(*) FROM billing.charge")
      #expect(try days.drop() >= 5)
      #expect(try days.number("SELECT count(*) FROM billing.charge") == rows)
    }
  }

  @Test(
    "a day of which something is still to come waits, and says for what",
    arguments: [
      (
        "impression tracking has not",
        "UPDATE impression_tracking.partition SET watermark = '2030-03-02Z' WHERE partition = 1"
      ),
      ("ad selection has not", "UPDATE ad_selection.partition SET watermark = '2030-03-02Z' WHERE partition = 0"),
      (
        "billing has not taken all of ads.clicks.accepted",
        "UPDATE billing.input SET consumed_watermark = 'epoch' WHERE partition = 0 AND topic = 'ads.clicks.accepted'"
      ),
      (
        "click tracking has not taken",
        "DELETE FROM click_tracking.input WHERE partition = 0 AND topic = 'ads.impressions.accepted'"
      ),
      (
        "1 events are in suspense",
        """
        INSERT INTO billing.suspense SELECT 0, 1, kind, 1000, serve_id, 77, event_time, event_time, price, allotment, app,
          advertiser, campaign, currency FROM billing.charge ORDER BY serve_id LIMIT 1
        """
      ),
      (
        "1 allotments have not ended",
        """
        UPDATE billing.allotment SET state = vocabulary.allotment_state('closed')
        WHERE id = (SELECT min(id) FROM billing.allotment)
        """
      ),
      ("billing has batches that are not counted", "UPDATE billing.counted SET batch_number = 0"),
    ])
  func notYet(obstacle: String, change: String) async throws {
    let days = try await Days()
    try await onOwnThread {
      try days.run(change)
      let result = try days.seal()
      guard case .notYet(let day, let due, let obstacles) = result else {
        Issue.record("\(result)")
        return
      }
      #expect(day.utcText == "2030-03-01T00:00:00Z" && due == 4)
      #expect(obstacles.contains { $0.hasPrefix(obstacle) }, "\(obstacles)")
    }
  }

  @Test("what differs in open days, or in what is kept of sealed ones, is found after their rows are gone")
  func tampered() async throws {
    let days = try await Days(sealed: true)
    try await onOwnThread {
      _ = try days.drop()
      for tampering in Self.tamperings { try tamper(days, tampering.rule, tampering.change) }
      #expect(try Reconciler(days.pool).reconcile().differences == 0)
    }
  }

  /// Changes something, looks, and puts everything back.
  private func tamper(_ days: Days, _ rule: String, _ change: String) throws {
    let copies = Self.changed.map { (table: $0, copy: "kept." + $0.replacing(".", with: "_")) }
    let keep = copies.map { "CREATE TABLE \($0.copy) AS SELECT * FROM \($0.table);" }.joined()
    try days.run("CREATE SCHEMA kept;" + keep + change)
    let result = try Reconciler(days.pool).reconcile()
    let broken = result.checks.filter { $0.differences > 0 }
    #expect(broken.contains { $0.rule == rule && !$0.examples.isEmpty }, "\(change): \(result.text)")
    let restore = copies.map { "DELETE FROM \($0.table); INSERT INTO \($0.table) SELECT * FROM \($0.copy);" }.joined()
    try days.run(restore + "DROP SCHEMA kept CASCADE")
  }

  private static let tamperings: [(rule: String, change: String)] = [
    ("I7a", "DELETE FROM billing.charge WHERE serve_id = (SELECT max(serve_id::text)::uuid FROM billing.charge)"),
    ("I6", "UPDATE billing.balance SET credit = credit + 1 WHERE account = 'developer:dev-app1'"),
    ("I5", "UPDATE treasury.account SET charged = charged + 1"),
    ("I5", "UPDATE treasury.campaign SET charged = charged - 1"),
    ("I3", "UPDATE click_tracking.output SET next_sequence = next_sequence + 1"),
    ("I3", "UPDATE billing.input SET next_offset = 49 WHERE topic = 'in'"),
    ("I3", "UPDATE billing.partition SET batch_number = 25"),
    ("M6", "DELETE FROM billing.minute_revenue WHERE minute >= '2030-03-05Z' AND minute < '2030-03-05 02:00Z'"),
    ("sealed", "UPDATE sealed.account SET charged = charged + 1 WHERE account = 'advertiser:adv'"),
    ("I6", "UPDATE sealed.account SET debit = debit + 1 WHERE account = 'advertiser:adv'"),
    ("sealed", "UPDATE sealed.revenue_ahead SET events = events + 1"),
    ("M6", "DELETE FROM sealed.count_ahead"), ("I5", "UPDATE sealed.campaign SET charged = charged + 1"),
    ("I3", "UPDATE sealed.partition SET impression_squares = impression_squares - 1"),
    ("sealed", "UPDATE sealed.partition SET requests = requests + 1"),
    ("sealed", "UPDATE sealed.day SET gross = gross + 1 WHERE day = '2030-03-01'"),
    ("sealed", "DELETE FROM sealed.day WHERE day = '2030-03-02'"),
    ("sealed", "DELETE FROM sealed.day WHERE day = '2030-03-04'"),
    ("sealed", "UPDATE sealed.head SET ended_before = ended_before + interval '1 s'"),
  ]

  private static let changed = [
    "billing.charge", "billing.balance", "treasury.account", "treasury.campaign", "click_tracking.output",
    "billing.input",
    "billing.partition", "billing.minute_revenue", "sealed.account", "sealed.revenue_ahead", "sealed.count_ahead",
    "sealed.campaign", "sealed.partition", "sealed.day", "sealed.head",
  ]

  @Test("passes over what is new find nothing to differ where days were sealed and dropped")
  func online() async throws {
    let days = try await Days(sealed: true)
    try await onOwnThread {
      _ = try days.drop()
      let time = MovingClock(Self.now)
      var reconciler = OnlineReconciler(days.pool)
      for _ in 0..<40 {
        let finding = try reconciler.pass(clock: time)
        #expect(finding.pass.differences == 0, "\(finding.checks)")
      }
      try days.run("UPDATE billing.balance SET credit = credit + 1 WHERE account = 'developer:dev-app1'")
      #expect(try reconciler.pass(clock: time).pass.differences > 0)
      var later = OnlineReconciler(days.pool)
      #expect(try later.pass(clock: time).pass.differences > 0)
    }
  }

  @Test(
    "B7: a month's money is final when its last day is sealed, wherever whoever asks is",
    arguments: ["NZ", "America/New_York"])
  func finalMonths(zone: String) async throws {
    let days = try await Days(sealed: true)
    try await onOwnThread {
      for view in ["developer_month", "advertiser_month"] {
        for (openFrom, isFinal) in [("2030-03-05", false), ("2030-03-31", false), ("2030-04-01", true)] {
          try days.run("UPDATE sealed.head SET open_from = '\(openFrom)Z'")
          let sql = """
            SELECT count(*) FILTER (WHERE is_final = \(isFinal)) * 1000 + count(*)
            FROM reporting.\(view), set_config('TimeZone', '\(zone)', false) WHERE month = '2030-03-01'
            """
          let counts = try days.number(sql)
          #expect(counts > 1000 && counts / 1000 == counts % 1000, "\(view), open from \(openFrom)")
        }
      }
    }
  }

  @Test("the console's role may seal, and write nothing of the services'")
  func role() async throws {
    let database = try await TestDatabase.configuration()
    try await onOwnThread {
      var configuration = database
      let owner = PostgresPool(configuration, size: 1)
      try owner.withConnection { connection throws(PostgresError) in try connection.executeScript(DaysOfTraffic.rows) }
      configuration.sessionSettings["role"] = "handbill_console"
      let pool = PostgresPool(configuration, size: 1)
      guard case .sealed = try DaySealer(pool).sealNext(now: Self.now) else {
        Issue.record("it was not sealed")
        return
      }
    }
  }
}
