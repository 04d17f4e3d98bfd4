import AdCore
import AdEvents
import LocalProcesses
import Postgres
import Runtime
import Synchronization
import TestServices
import Testing

@testable import Operations

/// The machine's clock, as much later or earlier as told.
private struct ShiftedClock: TimeSource {
  let shiftMilliseconds: Int64
  var now: Timestamp { SystemClock().now.advanced(byMilliseconds: shiftMilliseconds) }
  var monotonicMilliseconds: Int64 { SystemClock().monotonicMilliseconds }
}

@Suite("On-line reconciliation")
struct OnlineReconcilerTests {
  /// A difference made by hand, and how it is removed.
  struct Tampering: Sendable {
    let rule: String
    let change: String
    let undo: String

    init(_ rule: String, _ change: String, undo: String) {
      self.rule = rule
      self.change = change
      self.undo = undo
    }

    /// Rows that are taken away, and put back.
    init(_ rule: String, losing table: String, where condition: String = "true") {
      self.init(
        rule,
        "CREATE TABLE public.kept AS SELECT * FROM \(table) WHERE \(condition); "
          + "DELETE FROM \(table) WHERE \(condition)",
        undo: "INSERT INTO \(table) SELECT * FROM public.kept; DROP TABLE public.kept")
    }

    /// Rows that are changed, and changed back.
    init(_ rule: String, _ table: String, set change: String, undo: String, where condition: String = "true") {
      self.init(
        rule, "UPDATE \(table) SET \(change) WHERE \(condition)",
        undo: "UPDATE \(table) SET \(undo) WHERE \(condition)")
    }
  }

  static let tamperings: [Tampering] = [
    Tampering(
      "I6", "billing.balance", set: "credit = credit + 1", undo: "credit = credit - 1",
      where: "account = 'developer:dev'"),
    Tampering(
      "I6", "billing.balance", set: "debit = debit + 1, credit = credit + 1",
      undo: "debit = debit - 1, credit = credit - 1"),
    Tampering("I6", losing: "billing.balance"),
    Tampering(
      "I6",
      """
      INSERT INTO billing.posting VALUES (0, 2, 'advertiser:x', 'USD', 1, 0), (0, 2, 'x', 'USD', 0, 1);
      UPDATE billing.partition SET batch_number = 2
      """,
      undo: """
        ALTER TABLE billing.posting DISABLE TRIGGER USER; DELETE FROM billing.posting WHERE batch_number = 2;
        ALTER TABLE billing.posting ENABLE TRIGGER USER
        """),
    Tampering("I7a", losing: "billing.charge", where: "kind = vocabulary.charge_kind('impression')"),
    Tampering("I7a", losing: "billing.charge", where: "kind = vocabulary.charge_kind('click')"),
    Tampering("I7a", losing: "click_tracking.click"),
    Tampering("I7a", losing: "impression_tracking.impression"),
    Tampering("I7a", "billing.charge", set: "price = price + 1", undo: "price = price - 1"),
    Tampering("I7b", losing: "ad_selection.decision"),
    Tampering("I7b", "ad_selection.decision", set: "impression_price = 7", undo: "impression_price = 10000000"),
    Tampering("I7c", "impression_tracking.impression", set: "is_test = true", undo: "is_test = false"),
  ]

  /// One served ad a day ago, whose impression can no longer arrive; the services are up to date.
  private static let accounts =
    ReconciliationTests.served + """
      UPDATE billing.partition SET batch_number = 1;
      UPDATE click_tracking.partition SET batch_number = 1;
      UPDATE ad_selection.decision SET expires_at = '2025-07-24Z';
      UPDATE impression_tracking.impression SET expires_at = '2025-07-24Z';
      UPDATE click_tracking.click SET expires_at = '2025-07-24Z';
      \(told("now()"))
      """

  private static func told(_ moment: String) -> String {
    """
    UPDATE impression_tracking.partition SET watermark = \(moment);
    UPDATE click_tracking.partition SET watermark = \(moment);
    UPDATE billing.input SET consumed_watermark = \(moment);
    """
  }

  /// A console's eyes: passes as often as told, and a breaker that hears of them.
  private struct Eyes {
    let pool: PostgresPool
    var reconciler: OnlineReconciler
    var breaker = CircuitBreaker(now: 0)
    var moment: Int64 = 0
    let clock: ShiftedClock

    init(_ pool: PostgresPool, at now: Timestamp) {
      self.pool = pool
      reconciler = OnlineReconciler(pool)
      clock = ShiftedClock(shiftMilliseconds: now.milliseconds(since: SystemClock().now))
    }

    func run(_ script: String) throws(PostgresError) {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(script) }
    }

    /// Looks until `isEnough` says so, at most as often as a whole sweep takes; the last finding.
    mutating func pass(
      until isEnough: (OnlineReconciler.Finding, PaidAdsStop?) -> Bool = { _, _ in true }
    ) throws(PostgresError) -> OnlineReconciler.Finding {
      var finding = try reconciler.pass(clock: clock)
      for _ in 0..<60 {
        moment += 1_000
        var pass = finding.pass
        // The clock is a year behind: that is no error here.
        pass.clockErrorMilliseconds = 0
        breaker.note(pass, now: moment)
        if isEnough(finding, breaker.stop) { return finding }
        finding = try reconciler.pass(clock: clock)
      }
      return finding
    }
  }

  @Test("I6, I7: each difference is found, opens the breaker, and closes it when it is removed")
  func differences() async throws {
    let pool = try await TestDatabase.pool()
    let serve = try #require(UUIDv7(ReconciliationTests.serve))
    try await onOwnThread {
      var eyes = Eyes(pool, at: serve.timestamp.advanced(byMilliseconds: 26 * 3_600_000))
      try eyes.run(Self.accounts)
      let clean = try eyes.pass { finding, _ in finding.completeUntil != nil }
      #expect(clean.checks.allSatisfy { $0.differences == 0 }, "\(clean.checks)")
      #expect(eyes.breaker.stop == nil)
      for tampering in Self.tamperings {
        try eyes.run(tampering.change)
        let found = try eyes.pass { _, stop in stop == .difference }
        #expect(eyes.breaker.stop == .difference, "\(tampering)")
        let broken = found.checks.filter { $0.differences > 0 }
        #expect(broken.contains { $0.rule == tampering.rule }, "\(tampering): \(broken)")
        #expect(broken.allSatisfy { !$0.examples.isEmpty })

        try eyes.run(tampering.undo)
        let mended = try eyes.pass { _, stop in stop == nil }
        #expect(eyes.breaker.stop == nil, "\(tampering): \(mended.checks)")
      }
    }
  }

  @Test("I7c: served, seen and expired are counted, each final serve once")
  func finals() async throws {
    let pool = try await TestDatabase.pool()
    let serve = try #require(UUIDv7(ReconciliationTests.serve))
    let found = try await onOwnThread {
      var eyes = Eyes(pool, at: serve.timestamp.advanced(byMilliseconds: 26 * 3_600_000))
      try eyes.run(Self.accounts)
      var compared: Int64 = 0
      _ = try eyes.pass { finding, _ in
        compared += finding.checks.first { $0.rule == "I7c" }?.compared ?? 0
        return finding.completeUntil != nil
      }
      return compared
    }
    #expect(found == 1)
  }

  @Test("what billing has not taken yet is in flight and no difference")
  func inFlight() async throws {
    let pool = try await TestDatabase.pool()
    let serve = try #require(UUIDv7(ReconciliationTests.serve))
    let finding = try await onOwnThread {
      var eyes = Eyes(pool, at: serve.timestamp.advanced(byMilliseconds: 30_000))
      try eyes.run(
        Self.accounts + """
          DELETE FROM billing.charge; UPDATE billing.input SET consumed_sequence = 0; DELETE FROM billing.balance;
          ALTER TABLE billing.posting DISABLE TRIGGER USER; DELETE FROM billing.posting;
          """)
      return try eyes.pass()
    }
    #expect(finding.pass.differences == 0, "\(finding.checks)")
  }

  @Test(
    "The clock of each service is seen by its last batches: ad selection's, too, whose tokens are out of time if it is ahead",
    arguments: ["ad_selection", "impression_tracking", "click_tracking", "billing"])
  func serviceClocks(service: String) async throws {
    let pool = try await TestDatabase.pool()
    let now = SystemClock().now
    let errors = try await onOwnThread {
      var eyes = Eyes(pool, at: now)
      try eyes.run(
        """
        INSERT INTO \(service).partition (partition, batch_number) VALUES (0, 1), (1, 2);
        SELECT public.add_empty_batch('\(service)', 0, 1); SELECT public.add_empty_batch('\(service)', 1, 2);
        """)
      var errors = [try eyes.pass().clockErrorMilliseconds]
      try eyes.run("UPDATE \(service).batch SET committed_at = now() + interval '9 s' WHERE partition = 1")
      errors.append(try eyes.pass().clockErrorMilliseconds)
      // What was set right is not held against it.
      try eyes.run(
        """
        UPDATE \(service).partition SET batch_number = 3 WHERE partition = 1;
        SELECT public.add_empty_batch('\(service)', 1, 3)
        """)
      errors.append(try eyes.pass().clockErrorMilliseconds)
      return errors
    }
    #expect(errors[0] < 4_000 && (4_000..<9_001).contains(errors[1]) && errors[2] < 4_000, "\(errors)")
  }

  @Test("lag and clock error come from the tables; a partition that has not told holds back what is complete")
  func vitals() async throws {
    let pool = try await TestDatabase.pool()
    let now = SystemClock().now
    let findings = try await onOwnThread {
      var eyes = Eyes(pool, at: now)
      var findings = [try eyes.pass()]
      try eyes.run(Self.accounts + Self.told("now() - interval '200 s'"))
      findings.append(try eyes.pass { finding, _ in finding.completeUntil != nil })
      try eyes.run(
        "UPDATE billing.input SET consumed_watermark = now() + interval '9 s' WHERE topic LIKE 'ads.clicks%'")
      findings.append(try eyes.pass())
      eyes = Eyes(pool, at: now.advanced(byMilliseconds: 600_000))
      try eyes.run("UPDATE click_tracking.partition SET watermark = 'epoch'")
      findings.append(try eyes.pass { finding, _ in finding.completeUntil != nil })
      return findings
    }
    #expect(findings[0].pass == CircuitBreaker.Pass(clockErrorMilliseconds: findings[0].clockErrorMilliseconds))
    #expect(findings[0].clockErrorMilliseconds < 5_000)
    #expect(findings[0].completeUntil == nil)
    #expect(findings[1].lags.map(\.step) == ["clicks", "impressions", "revenue"])
    #expect(findings[1].lags.allSatisfy { (200_000..<260_000).contains($0.milliseconds) })
    let complete = try #require(findings[1].completeUntil)
    #expect((190_000..<260_000).contains(now.milliseconds(since: complete)))
    #expect((4_000..<9_001).contains(findings[2].clockErrorMilliseconds))
    #expect((590_000..<600_001).contains(findings[3].clockErrorMilliseconds))
    #expect(findings[3].completeUntil == nil)
  }
}
