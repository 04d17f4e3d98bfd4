import AdCore
import AdEvents
import BillingCore
import LocalProcesses
import Pipeline
import Postgres
import TestValues
import Testing

@testable import Billing

@Suite("B8: events beyond an app's caps, in the database")
struct HeldTests {
  /// The sample network has four partitions: two impressions, and a click on an ad, are billed of an hour in each.
  private static let settings = {
    var settings = BillingSettings()
    settings.caps.impressionsPerHour = 8
    settings.caps.clicksOfAdPerHour = 4
    return settings
  }()

  private let fates = """
    SELECT count(*) FILTER (WHERE fate = vocabulary.charge_fate('charged')),
      count(*) FILTER (WHERE fate = vocabulary.charge_fate('unfunded')),
      count(*) FILTER (WHERE fate = vocabulary.charge_fate('unpaid')),
      count(*) FILTER (WHERE fate = vocabulary.charge_fate('voided')),
      (SELECT count(*) FROM billing.waiting), (SELECT count(*) FROM billing.held) FROM billing.charge
    """

  private func resolve(_ network: TestNetwork, isReleased: Bool, most: Int = 5_000) throws -> Int128 {
    try #require(try network.numbers(Self.resolution(isReleased: isReleased, most: most)).first)
  }

  private static func resolution(isReleased: Bool, most: Int = 5_000) -> String {
    "SELECT billing.resolve_held(0, 'weather', 0, 2000000000, \(isReleased), 'a test', \(most))"
  }

  @Test("what is beyond the caps is held, by whoever owns the partition, and nobody pays and nobody is paid for it")
  func held() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000)
    let partition = try BillingPartition(network, settings: Self.settings)
    try partition.process((0..<3).map { _ in try partition.impression(0, price: 10) })
    #expect(try network.numbers(fates) == [2, 0, 0, 0, 0, 1])
    try partition.takeOver()
    try partition.process([
      partition.impression(0, price: 10), partition.click(0, price: 20), partition.click(0, price: 20),
    ])
    #expect(try network.numbers(fates) == [3, 0, 0, 0, 0, 3])
    #expect(try network.numbers("SELECT charged FROM treasury.account") == [40])
    #expect(try network.numbers("SELECT sum(debit), sum(credit) FROM billing.balance") == [40, 40])
    try partition.writeCounts()
    #expect(try network.numbers("SELECT sum(gross), sum(events) FROM billing.all_revenue") == [40, 3])
    let reasons = """
      SELECT sum(events) FILTER (WHERE reason = 'impressions'), sum(events) FILTER (WHERE reason = 'clicksOfAd'),
        sum(price_nanos) FROM reporting.held
      """
    #expect(try network.numbers(reasons) == [2, 1, 40])
  }

  @Test("what came of an hour that no owner remembers is asked of its rows, of the app's and of the ad's")
  func asked() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000)
    let partition = try BillingPartition(network, settings: Self.settings)
    let (long, now) = (network.now.advanced(byMilliseconds: -4 * 3_600_000), network.now)
    try partition.process([partition.impression(0, price: 10, issuedAt: long), partition.impression(0, price: 10)])
    try partition.takeOver()
    try partition.process([
      partition.impression(0, price: 10, issuedAt: long), partition.impression(0, price: 10, issuedAt: now),
      partition.impression(0, price: 10, issuedAt: long), partition.click(0, price: 20, issuedAt: long),
    ])
    #expect(try network.numbers(fates) == [5, 0, 0, 0, 0, 1])
    try partition.process([
      partition.impression(0, price: 10, issuedAt: long), partition.click(0, price: 20, issuedAt: long),
    ])
    #expect(try network.numbers(fates) == [5, 0, 0, 0, 0, 3])
    let connection = try network.connect()
    defer { connection.close() }
    let read = try connection.run(ReadAppHours(partition: 0, now: now))
    #expect(read.map(\.key.hour) == [Int32(now.milliseconds / 3_600_000)] && read.map(\.count.impressions) == [2])
    let app = try #require(read.first).key.app
    let hour = Int32(long.milliseconds / 3_600_000)
    let keys = [AppHour(app: app, hour: hour), AppHour(app: app, hour: hour - 1)]
    let found = try connection.run(FindAppHours(partition: 0, asked: Set(keys)))
    #expect(found.map(\.key) == [keys[0]] && found.map(\.count) == [AppHourCount(impressions: 4, clicks: 2)])
    #expect(try connection.run(FindAppHours(partition: 1, asked: Set(keys))).isEmpty)
  }

  @Test("released, it draws on free budget in its order; what no budget can pay waits or is unfunded")
  func released() async throws {
    let network = try await TestNetwork()
    try network.fund(45)
    let partition = try BillingPartition(network, settings: Self.settings)
    try partition.process((0..<6).map { _ in try partition.impression(0, price: 10) })
    #expect(try network.numbers(fates) == [2, 0, 0, 0, 0, 4])
    // In two transactions; two fit what is left of the budget.
    #expect(try resolve(network, isReleased: true, most: 3) == 3)
    #expect(try resolve(network, isReleased: true, most: 3) == 1)
    #expect(try resolve(network, isReleased: true) == 0)
    #expect(try network.numbers(fates) == [4, 2, 0, 0, 0, 0])
    #expect(try network.numbers("SELECT charged FROM treasury.campaign") == [40])
    #expect(try network.numbers("SELECT sum(debit) - sum(credit) FROM billing.posting") == [0])
    #expect(
      try network.numbers("SELECT sum(events), count(*) FROM billing.held_decision WHERE is_released") == [
        4, 2,
      ])
    // The one before was fenced; the next owner goes on, and counts nothing twice.
    try partition.takeOver()
    try partition.process([partition.impression(0, price: 0)])
    try partition.writeCounts()
    #expect(try network.numbers("SELECT sum(gross), sum(events) FROM billing.all_revenue") == [40, 7])
  }

  @Test("of an ad's view and tap that are both held one may be released in one transaction and the other in the next")
  func oneByOne() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000)
    let partition = try BillingPartition(network, settings: Self.settings)
    try partition.process([
      partition.impression(0, price: 10), partition.impression(0, price: 10), partition.click(0, price: 20),
    ])
    var terms = try network.terms(99, partition: 0, issuedAt: nil)
    (terms.allotment, terms.impressionPrice, terms.clickPrice) = (0, Nanos(10), Nanos(20))
    let seen = AcceptedImpression(terms: terms, eventTime: network.now, arrival: network.now)
    let tapped = AcceptedClick(
      terms: terms, idHash: 1, eventTime: network.now, arrival: network.now, verdict: .billable)
    try partition.process([.event(AcceptedEvent(seen)), .event(AcceptedEvent(tapped))])
    #expect(try network.numbers(fates) == [3, 0, 0, 0, 0, 2])
    for (charged, held) in [(4, 1), (5, 0)] as [(Int128, Int128)] {
      #expect(try resolve(network, isReleased: true, most: 1) == 1)
      #expect(try network.numbers(fates) == [charged, 0, 0, 0, 0, held])
    }
    #expect(try network.numbers("SELECT charged FROM treasury.campaign") == [70])
  }

  @Test("of two persons who decide about the same at once, the second finds nothing left")
  func atOnce() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000)
    let partition = try BillingPartition(network, settings: Self.settings)
    try partition.process((0..<5).map { _ in try partition.impression(0, price: 10) })
    let (first, eyes) = (try network.connect(), try network.connect())
    defer {
      first.close()
      eyes.close()
    }
    try first.begin()
    _ = try first.query(Self.resolution(isReleased: true))
    async let second = onOwnThread { try resolve(network, isReleased: true) }
    let waits =
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    #expect(try Waiting.until { try eyes.query(waits).first?.decode(0, Int64.self) ?? 0 > 0 })
    try first.commit()
    #expect(try await second == 0)
    #expect(try network.numbers(fates) == [5, 0, 0, 0, 0, 0])
    #expect(try network.numbers("SELECT count(*), sum(events) FROM billing.held_decision") == [1, 3])
  }

  @Test("B4: what is released is borne by the network no further than the cap that billing has for an app's day")
  func releasedBeyondCap() async throws {
    let network = try await TestNetwork()
    try network.fund(0)
    let partition = try BillingPartition(network, settings: Self.settings)
    try partition.process((0..<6).map { _ in try partition.click(0, price: 20) })
    #expect(try network.numbers(fates) == [0, 1, 0, 0, 0, 5])
    // Billing is started with another cap. All of it is this partition's, since billing has no other: two clicks, of each of
    // which the developer gets 12.
    var settings = Self.settings
    settings.caps.unfundedPerDay = Nanos(24)
    _ = try BillingPartition(network, settings: settings)
    #expect(try resolve(network, isReleased: true) == 5)
    #expect(try network.numbers(fates) == [0, 2, 4, 0, 0, 0])
  }

  @Test("which ads lost decisions served, and what lost commits granted, a partition's owner reads when he takes it")
  func lostCommits() async throws {
    let network = try await TestNetwork()
    try network.fund(0)
    let partition = try BillingPartition(network, settings: Self.settings)
    // Of billing's messages the topic told up to the fifth.
    let begin = """
      SELECT timeline.begin('{ads.budgets}', '{0}', ARRAY[gen_random_uuid()], '{5}', '{1}', 'a test')
      """
    _ = try network.numbers(begin)
    try partition.takeOver()
    // Granted by a lost commit, it has not ended: the event is not late.
    try partition.process([partition.impression(AllotmentID.make(partition: 0, sequence: 3), price: 10)])
    #expect(try network.numbers(fates) == [0, 1, 0, 0, 0, 0])
    let lost = """
      INSERT INTO timeline.lost_serve SELECT 0, public.first_uuid_at(now() - interval '1 day'),
        public.first_uuid_at(now() + interval '1 day'), max(number) FROM timeline.timeline RETURNING 1
      """
    _ = try network.numbers(lost)
    try partition.takeOver()
    try partition.process([partition.impression(0, price: 10)])
    #expect(try network.numbers(fates) == [0, 1, 0, 0, 0, 1])
    let reasons = "SELECT count(*) FROM billing.held WHERE vocabulary.hold_reason_name(reason) = 'decisionLost'"
    #expect(try network.numbers(reasons) == [1])
  }

  @Test("what lost decisions served is held however long billing stood still: by watermarks, not by the clock")
  func lostLongAgo() async throws {
    let network = try await TestNetwork()
    try network.fund(0)
    let partition = try BillingPartition(network, settings: Self.settings)
    let long = network.now.advanced(byMilliseconds: -40 * 86_400_000)
    try partition.pass(long)
    let lost = """
      INSERT INTO timeline.lost_serve SELECT 0, public.first_uuid_at(now() - interval '41 days'),
        public.first_uuid_at(now() - interval '39 days'), max(number) FROM timeline.timeline RETURNING 1
      """
    _ = try network.numbers(lost)
    try partition.takeOver()
    try partition.process([partition.impression(0, price: 10, issuedAt: long)])
    #expect(try network.numbers(fates) == [0, 0, 0, 0, 0, 1])
    let connection = try network.connect()
    defer { connection.close() }
    #expect(try connection.run(ReadLostServes(partition: 0)).count == 1)
    try partition.pass(network.now)
    #expect(try connection.run(ReadLostServes(partition: 0)).isEmpty)
  }

  @Test("voided, each has its fate, and no money moves")
  func voided() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000)
    let partition = try BillingPartition(network, settings: Self.settings)
    try partition.process((0..<5).map { _ in try partition.impression(0, price: 10) })
    let before = try network.numbers("SELECT sum(debit), sum(credit) FROM billing.balance")
    #expect(try resolve(network, isReleased: false) == 3)
    #expect(try network.numbers(fates) == [2, 0, 0, 3, 0, 0])
    #expect(try network.numbers("SELECT sum(debit), sum(credit) FROM billing.balance") == before)
    #expect(try network.numbers("SELECT charged, waiting FROM treasury.account") == [20, 0])
    try partition.takeOver()
    try partition.writeCounts()
    #expect(try network.numbers("SELECT sum(gross), sum(events) FROM billing.all_revenue") == [20, 5])
  }

  @Test("B4: the network pays for an app's day no more than its cap, in whatever batches and after a crash")
  func unpaid() async throws {
    var settings = BillingSettings()
    // 60 in each of the four partitions; the developer's part of each click is 12.
    settings.caps.unfundedPerDay = Nanos(240)
    let network = try await TestNetwork()
    try network.fund(0)
    let partition = try BillingPartition(network, settings: settings)
    try partition.process((0..<3).map { _ in try partition.click(0, price: 20) })
    #expect(try network.numbers(fates) == [0, 3, 0, 0, 0, 0])
    try partition.takeOver()
    try partition.process((0..<4).map { _ in try partition.click(0, price: 20) })
    #expect(try network.numbers(fates) == [0, 5, 2, 0, 0, 0])
    let ledger = "SELECT sum(credit) FROM billing.balance WHERE account LIKE 'developer:%'"
    #expect(try network.numbers(ledger) == [60])
    // Another day of serves has its own.
    let yesterday = network.now.advanced(byMilliseconds: -86_400_000)
    try partition.process([partition.impression(0, price: 20, issuedAt: yesterday)])
    #expect(try network.numbers(ledger) == [72])
  }

  @Test("B4: an unfunded event reads nothing of what the network bore for other apps and days; what is sealed goes")
  func unfundedDays() async throws {
    let connection = try await TestNetwork().connect()
    defer { connection.close() }
    try connection.executeScript(
      """
      INSERT INTO billing.unfunded_day SELECT 0, 'app-' || app, current_date - day, 'USD', 1
      FROM generate_series(1, 2000) AS app, generate_series(0, 60) AS day;
      ANALYZE billing.unfunded_day;
      """)
    func settle() throws -> String {
      try connection.query(
        """
        EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off) SELECT billing.cap_unfunded(
          jsonb_populate_record(NULL::billing.settlement, jsonb_build_object('fates',
            jsonb_build_array(jsonb_build_object('fate', vocabulary.charge_fate('unfunded'))))),
          jsonb_populate_record(NULL::billing.settle_batch, jsonb_build_object('partition', 0, 'decided_at', now())), '{}', 9)
        """)[1].decode(0)
    }
    func days() throws -> Int64 {
      try connection.query("SELECT count(DISTINCT day) FROM billing.unfunded_day")[0].decode(0)
    }
    // The first one reads what the session does not know of the tables yet.
    _ = try settle()
    let plan = try settle()
    let buffers = try #require(plan.firstMatch(of: /hit=([0-9]+)/).flatMap { Int($0.output.1) }, "\(plan)")
    #expect(buffers < 100, "of 122,000 rows: \(plan)")
    #expect(try days() == 61)
    try connection.executeScript("UPDATE billing.unfunded_day SET day = day - 99 WHERE day > current_date - 2")
    _ = try settle()
    #expect(try days() == 61, "what is held of a day, or in suspense, may still be unfunded")
    try connection.executeScript("UPDATE sealed.head SET open_from = date_trunc('day', now(), 'UTC')")
    _ = try settle()
    #expect(try days() == 59)
  }
}
