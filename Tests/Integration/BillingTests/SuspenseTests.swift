import AdCore
import AdEvents
import BillingCore
import JSON
import Operations
import Pipeline
import Postgres
import Runtime
import Testing

@testable import Billing

@Suite("The way out of suspense")
struct SuspenseTests {
  /// A network whose billing refuses what was served this long ago: no table has been kept for that day.
  private final class Network {
    let network: TestNetwork
    let partition: BillingPartition
    let pool: PostgresPool
    let longAgo: Timestamp

    init(funding: Int128 = 1_000_000_000_000, settings: BillingSettings = BillingSettings()) async throws {
      network = try await TestNetwork()
      try network.fund(funding)
      partition = try BillingPartition(network, settings: settings)
      pool = PostgresPool(network.configuration, size: 1)
      longAgo = network.now.advanced(byMilliseconds: -90 * 86_400_000)
      try keepDays(of: ["impression_tracking.impression_row", "click_tracking.click_row"])
    }

    var suspense: Suspense { Suspense(pool) }

    func keepDays(of tables: [String]) throws {
      try pool.withConnection { connection throws(PostgresError) in
        _ = try connection.query(
          "SELECT public.keep_days(t::regclass, $1::text::date, 0, 0, 1) FROM unnest($2::text[]) AS t",
          [String(longAgo.utcText.prefix(10)), tables])
      }
    }

    /// What the trackers accepted goes to billing.
    func process(_ events: [AcceptedEvent]) throws -> BatchSummary {
      var sequences = [Int64](repeating: 0, count: 2)
      try pool.withConnection { connection throws(PostgresError) in
        for event in events {
          let isClick = event.kind == .click
          sequences[isClick ? 1 : 0] += 1
          let terms = event.terms
          _ = try connection.query(
            """
            INSERT INTO \(isClick ? "click_tracking.click" : "impression_tracking.impression") (serve_id, partition,
              batch_number, sequence, event_time, arrival, expires_at, app, developer, advertiser, campaign, ad, placement,
              country, device, size, impression_price, click_price, currency, share_basis_points, allotment, budget_day,
              client_hash, is_test\(isClick ? ", id_hash, verdict, was_parked" : ""))
            VALUES ($1, $2, 1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, 0,
              false\(isClick ? ", \(event.idHash), \(event.verdict.rawValue), false" : ""))
            """,
            [
              terms.serveID, terms.partition, sequences[isClick ? 1 : 0], event.eventTime, event.arrival,
              terms.expiresAt,
              terms.app, terms.developer, terms.advertiser, terms.campaign, terms.ad, terms.placement, terms.country,
              terms.device, terms.size, terms.impressionPrice, terms.clickPrice, terms.currency,
              Int32(terms.shareBasisPoints), terms.allotment, terms.budgetDay,
            ])
        }
      }
      return try partition.process(events.map(BillingInput.event))
    }

    func impression(issuedAt: Timestamp) throws -> AcceptedEvent {
      guard case .event(let event) = try partition.impression(0, issuedAt: issuedAt) else { throw TestFailure() }
      return event
    }

    func click(_ verdict: ClickVerdict) throws -> AcceptedEvent {
      var terms = try impression(issuedAt: longAgo).terms
      terms.clickPrice = Nanos(2_000_000_000)
      return AcceptedEvent(
        AcceptedClick(terms: terms, idHash: 1, eventTime: network.now, arrival: network.now, verdict: verdict))
    }

    /// What differs of money and fates; all of both was compared.
    func differences() throws -> [ReconciliationCheck] {
      let checks = try Reconciler(pool).reconcile().checks.filter { ["I5", "I6", "I7a", "I2"].contains($0.rule) }
      #expect(checks.contains { $0.rule == "I7a" && $0.compared > 0 })
      return checks.filter { $0.differences > 0 }
    }
  }

  private struct TestFailure: Error {}

  private static let revenue = "SELECT coalesce(sum(events), 0), coalesce(sum(gross), 0) FROM billing.all_revenue"

  @Test("B6: what is in suspense says why, and is charged once its reason is gone; the partition's owner goes on")
  func retried() async throws {
    let network = try await Network()
    let event = try network.impression(issuedAt: network.longAgo)
    let others = try (0..<3).map { _ in try network.impression(issuedAt: network.network.now) }
    let summary = try network.process(others + [event])
    #expect(summary.outcomes[Int(Outcome.suspense.rawValue)] == 1)
    let suspended = try network.suspense.list()
    #expect(suspended.map(\.serveID) == [event.terms.serveID])
    #expect(suspended.first?.json["serveId"] == .text(event.terms.serveID.description))
    #expect(suspended.first?.reason.contains("no partition of relation") == true, "\(suspended)")

    // Its reason is still there.
    let error = #expect(throws: PostgresError.self) { try network.suspense.retry(event.terms.serveID) }
    #expect(error?.sqlState == "23514")
    #expect(try network.suspense.list().count == 1)
    try network.keepDays(of: ["billing.charge_row"])
    #expect(
      try network.suspense.retry(event.terms.serveID) == [RetriedEvent(kind: .impression, fate: .charged)])
    #expect(try network.suspense.list().isEmpty)
    #expect(try network.suspense.retry(event.terms.serveID).isEmpty)

    // Whoever had the partition is fenced; the next owner goes on, and everything is counted once.
    #expect(throws: PipelineError.fenced) {
      try network.process([try network.impression(issuedAt: network.network.now)])
    }
    try network.partition.takeOver()
    try network.partition.writeCounts()
    #expect(try network.network.numbers(Self.revenue) == [4, 4 * 10_000_000])
    #expect(try network.network.numbers("SELECT charged FROM treasury.campaign") == [4 * 10_000_000])
  }

  @Test("a click that nobody pays for is free with its verdict's fate, and counted once")
  func free() async throws {
    let network = try await Network()
    let event = try network.click(.limited)
    #expect(try network.process([event]).outcomes[Int(Outcome.suspense.rawValue)] == 1)
    try network.keepDays(of: ["billing.charge_row"])
    #expect(
      try network.suspense.retry(event.terms.serveID) == [RetriedEvent(kind: .click, fate: .free(.limited))])
    try network.partition.takeOver()
    try network.partition.writeCounts()
    #expect(try network.network.numbers(Self.revenue) == [1, 0])
    #expect(try network.differences() == [])
  }

  @Test(
    "without budget the network bears it, although it comes after its allotment's end: the delay is ours",
    arguments: [0, 1])
  func unfunded(number: Int) async throws {
    let network = try await Network(funding: number == 0 ? 5 : 10_000_000)
    let event = try network.impression(issuedAt: network.longAgo)
    _ = try network.process([event])
    try network.keepDays(of: ["billing.charge_row"])
    let fate: ChargeFate = number == 0 ? .unfunded : .charged
    #expect(try network.suspense.retry(event.terms.serveID) == [RetriedEvent(kind: .impression, fate: fate)])
    #expect(try network.differences() == [])
    #expect(
      try network.network.numbers("SELECT sum(credit) FROM billing.balance WHERE account = 'developer:sunny'") == [
        6_000_000
      ])
  }

  @Test("B4: what the network bears of it counts in the cap of its app's day")
  func unpaid() async throws {
    var settings = BillingSettings()
    // Of each event the developer's part is 6,000,000.
    settings.caps.unfundedPerDay = Nanos(11_000_000)
    let network = try await Network(funding: 5, settings: settings)
    let events = try (0..<2).map { _ in try network.impression(issuedAt: network.longAgo) }
    _ = try network.process(events)
    try network.keepDays(of: ["billing.charge_row"])
    let connection = try network.network.connect()
    defer { connection.close() }
    try connection.executeScript(
      "CREATE TABLE public.noted AS SELECT * FROM billing.unfunded_cap; DELETE FROM billing.unfunded_cap")
    let unknown = #expect(throws: PostgresError.self) { try network.suspense.retry(events[0].terms.serveID) }
    #expect(unknown?.sqlState == "HB008", "of a migration before which billing noted nothing")
    try connection.executeScript("INSERT INTO billing.unfunded_cap SELECT * FROM public.noted")
    for (event, fate) in zip(events, [ChargeFate.unfunded, .unpaid]) {
      #expect(try network.suspense.retry(event.terms.serveID) == [RetriedEvent(kind: .impression, fate: fate)])
    }
    #expect(try network.differences() == [])
  }

  @Test("what a person voids is paid by nobody, has its reason, and is one fate")
  func voided() async throws {
    let network = try await Network()
    let event = try network.impression(issuedAt: network.longAgo)
    _ = try network.process([event])
    #expect(try network.suspense.void(event.terms.serveID, reason: "a test of ours") == 1)
    #expect(try network.suspense.void(event.terms.serveID, reason: "again") == 0)
    #expect(try network.suspense.list().isEmpty)
    #expect(try network.suspense.list(withVoided: true).map(\.voided?.reason) == ["a test of ours"])
    try network.keepDays(of: ["billing.charge_row"])
    #expect(try network.suspense.retry(event.terms.serveID).isEmpty)
    #expect(try network.network.numbers("SELECT count(*) FROM billing.charge") == [0])
    #expect(try network.differences() == [])
  }

  @Test("what no tracker accepted is not charged")
  func notAccepted() async throws {
    let network = try await Network()
    let event = try network.impression(issuedAt: network.longAgo)
    try network.partition.process([.event(event)])
    try network.keepDays(of: ["billing.charge_row"])
    let error = #expect(throws: PostgresError.self) { try network.suspense.retry(event.terms.serveID) }
    #expect(error?.sqlState == "HB007")
    #expect(try network.suspense.list().count == 1)
  }
}
