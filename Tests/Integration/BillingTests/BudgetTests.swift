import AdCore
import AdEvents
import BillingCore
import LocalProcesses
import Pipeline
import PipelineHost
import Postgres
import Records
import Runtime
import Synchronization
import TestServices
import TestValues
import Testing

@testable import Billing

@Suite("Budgets in the database")
struct BudgetTests {
  @Test(
    "a grant is what a minute uses, at least one ad, more while there is plenty; it lasts as the budget allows",
    arguments: [
      // free, used, granted, seconds; four partitions, and an ad costs 10.
      (10_000, 0, 125, 3_600), (801, 0, 10, 3_600), (800, 0, 10, 60), (40, 0, 10, 60), (39, 0, 10, 5), (10, 0, 10, 5),
      (9, 0, 0, 0), (10_000, 500, 500, 60), (300, 500, 300, 5), (10_000_000, 0, 10_000, 3_600),
    ] as [(Int128, Int64, Int128, Int128)])
  func grantRule(free: Int128, used: Int64, granted: Int128, seconds: Int128) async throws {
    let network = try await TestNetwork()
    try network.fund(free)
    try BillingPartition(network).process([network.ask(1, used: used, fullPrice: 10)])
    let found = try network.numbers(
      """
      SELECT coalesce(sum(granted), 0), trunc(coalesce(sum(extract(epoch FROM serve_until - granted_at)), 0))::bigint,
        coalesce(sum(campaign_free), 0), (SELECT allotted FROM treasury.campaign) FROM billing.allotment
      """)
    // A day that is about to end shortens it.
    let left = Int128(network.today.end.milliseconds(since: network.now)) / 1_000
    let expected = min(seconds, left)
    #expect(found == [granted, expected, granted == 0 ? 0 : free - granted, granted])
  }

  @Test("each ordinal is granted once, and published again, the same, after a crash")
  func askedAgain() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000_000_000_000)
    let first = try BillingPartition(network)
    try first.process([network.ask(1), network.ask(1)])
    try first.process([network.ask(1), network.ask(2)])
    #expect(first.grants.map(\.ordinal) == [1, 2])
    #expect(first.grants.map(\.allotment) == [1, 2])
    // Nothing was delivered: whoever takes over publishes all of it again.
    let second = try BillingPartition(network)
    // Only how far its writer has come, which each says of the moment it is sent, may differ.
    func content(_ partition: BillingPartition) -> [OutgoingMessage] {
      partition.published.messages.filter { BillingPartition.grant(of: $0) != nil }.map { message in
        var message = message
        message.headers.removeAll { $0.name.elementsEqual("\(TimelineMark.headerName)".utf8) }
        return message
      }
    }
    #expect(content(second) == content(first) && content(second).count == 2)
    try second.process([network.ask(2), network.ask(3)])
    #expect(second.grants.map(\.ordinal) == [1, 2, 3])
    #expect(throws: PipelineError.fenced) { try first.process([network.ask(4)]) }
  }

  /// Whoever opens a partition has all of the catalogue brought in again.
  @Test("what is said again of an account or a campaign writes nothing, and waits for nobody")
  func saidAgain() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000)
    let party = "'\(network.advertiser.id)', '\(network.advertiser.currency)'"
    let holder = try network.connect()
    defer { holder.close() }
    try holder.executeScript("BEGIN; SELECT FROM treasury.account FOR UPDATE")
    let said = try network.numbers(
      """
      SELECT treasury.fund_campaign('summer', \(party), 1000, NULL, 1, 0)::int, treasury.fund_account(\(party), 1000, 1)::int,
        (pg_current_xact_id_if_assigned() IS NOT NULL)::int
      """)
    #expect(said == [0, 0, 0])
    try holder.executeScript("ROLLBACK")
    try network.fund(2_000, version: 2)
    #expect(try network.numbers("SELECT requested FROM treasury.campaign") == [2_000])
  }

  @Test("A budget whose commit was lost is brought in again by the next publication, once a partition was opened anew")
  func lostFunding() async throws {
    let network = try await TestNetwork()
    let campaign = try network.fund(1_000)
    let connection = try network.connect()
    defer { connection.close() }
    try connection.executeScript(
      """
      SET session_replication_role = replica;
      DELETE FROM treasury.funding; DELETE FROM treasury.campaign; DELETE FROM treasury.account;
      """)
    try network.publish(campaign)
    #expect(try network.numbers("SELECT count(*) FROM treasury.campaign") == [0], "it is known, and was not lost yet")
    let partition = try BillingPartition(network)
    try network.publish(.record(.advertiser(network.advertiser), version: 1))
    try network.publish(campaign)
    try partition.process([network.ask(1, fullPrice: 60)])
    #expect(partition.grants.map(\.amount.value) == [60])
    // An older version says nothing, stored or not.
    try partition.takeOver()
    try network.publish(
      .record(.campaign(.sample("summer", of: network.advertiser.id) { $0.totalBudget = 7 }), version: 0))
    try network.publish(campaign)
    #expect(try network.numbers("SELECT requested FROM treasury.campaign") == [1_000])
  }

  @Test("a deletion is remembered, so that what comes late does not undo it, until its tombstone: a day later")
  func deletion() async throws {
    let network = try await TestNetwork()
    let campaign = try network.fund(1_000)
    let summer = try #require(CampaignID("summer"))
    _ = try BillingPartition(network)
    let funding = BudgetFunding(catalog: network.catalog, database: network.configuration, logger: .unread)
    let deletion = CatalogMessage.deleted(key: "campaign/summer", version: 2)
    try await onOwnThread {
      let away = try network.connect()
      away.close()
      #expect(throws: PostgresError.self) { try network.catalog.apply(deletion, in: away) }
      #expect(!network.catalog.knows(deletion), "it is to be done again")
      funding.take([.message(deletion), .message(campaign)])
      #expect(network.catalog.knows(deletion) && network.catalog.terms(of: [summer]).isEmpty)
      funding.take([.tombstone(key: "campaign/other")])
      #expect(network.catalog.knows(deletion))
      // Ads that were on their way are counted once the campaign is gone.
      let count = "SELECT count(*) FROM billing.click_count WHERE campaign = 'summer'"
      let connection = try network.connect()
      defer { connection.close() }
      let late = "INSERT INTO billing.click_count SELECT partition, 'summer', 'late', 1, 0 FROM billing.partition"
      try connection.executeScript(late)
      #expect(try network.numbers(count) == [1])
      funding.take([.tombstone(key: "campaign/summer")])
      #expect(try network.numbers(count) == [0])
      #expect(!network.catalog.knows(deletion), "what was deleted long ago takes no memory")
      try connection.executeScript(late)
      funding.take([.tombstone(key: "campaign/summer")])
      #expect(try network.numbers(count) == [1], "a console that starts says all of them again: that reads no table")
    }
  }

  @Test("B4: a day's budget bounds the day, and counts what the day has had when it is changed")
  func dailyBudget() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000, daily: 100)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1, fullPrice: 60), network.ask(2, fullPrice: 60)])
    #expect(partition.grants.map(\.amount.value) == [60])
    try network.fund(1_000, daily: 130, version: 2)
    try partition.process([network.ask(2, fullPrice: 60), network.ask(3, fullPrice: 60)])
    #expect(partition.grants.map(\.amount.value) == [60, 60])
    try network.fund(1_000, version: 3)
    try partition.process([network.ask(3, fullPrice: 60)])
    #expect(partition.grants.count == 3)
  }

  @Test("B4: what one batch draws goes to the budget of each ad's own day, in the batch's order")
  func severalDays() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000, daily: 100)
    let partition = try BillingPartition(network)
    // 60 leave no room for 50, but for 40; 70 leave room for 30.
    try partition.process([
      partition.click(0, price: 60), partition.click(0, price: 70, daysAhead: 1), partition.click(0, price: 50),
      partition.click(0, price: 30, daysAhead: 1), partition.click(0, price: 40),
    ])
    let days = "SELECT min(charged), max(charged), count(*), max(day) - min(day) FROM treasury.campaign_day"
    #expect(try network.numbers(days) == [100, 100, 2, 1])
    let unpaid = """
      SELECT min(price), max(price), max(budget_day) FROM billing.charge
      WHERE fate = vocabulary.charge_fate('unfunded')
      """
    #expect(try network.numbers(unpaid) == [50, 50, Int128(network.today.number)])
  }

  @Test("an ask that cannot be granted changes no row of a budget")
  func refusedAsk() async throws {
    let network = try await TestNetwork()
    try network.fund(100)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1, used: 100, fullPrice: 25)])
    #expect(partition.grants.map(\.amount.value) == [100])
    let writers = """
      SELECT sum(writer) FROM (
        SELECT xmin::text::bigint AS writer FROM treasury.account UNION ALL
        SELECT xmin::text::bigint FROM treasury.campaign UNION ALL SELECT xmin::text::bigint FROM treasury.campaign_day
      ) AS rows
      """
    let before = try network.numbers(writers)
    try partition.process([network.ask(2, fullPrice: 25)])
    #expect(partition.grants.count == 1)
    #expect(try network.numbers(writers) == before)
    // A budget that was lowered in between still takes effect.
    try network.fund(50, version: 2)
    try partition.process([network.ask(3, fullPrice: 25)])
    #expect(try network.numbers("SELECT funded, requested, allotted FROM treasury.campaign") == [100, 50, 100])
  }

  @Test("a lowered budget takes effect as far as possible, and further as allotments return")
  func lowered() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1, used: 800, fullPrice: 10)])
    let grant = try #require(partition.grants.first)
    #expect(grant.amount == Nanos(800))
    try network.fund(100, version: 2)
    let funded =
      "SELECT funded FROM treasury.campaign UNION ALL SELECT funded FROM treasury.campaign_day ORDER BY 1 DESC"
    #expect(try network.numbers(funded) == [800])
    try partition.process([
      .report(
        AllotmentReport(allotment: grant.allotment, used: Nanos(300), usedForClicks: .zero, closedAt: network.now)),
      network.ask(2, fullPrice: 10),
    ])
    #expect(try network.numbers(funded) == [300])
    #expect(partition.grants.count == 1)
    try partition.process([partition.impression(grant.allotment, price: 30)])
    try partition.pass(network.now.advanced(byMilliseconds: 86_400_000))
    #expect(try network.numbers(funded) == [100])
    #expect(try network.numbers("SELECT charged, allotted FROM treasury.campaign") == [30, 0])
    try partition.process([network.ask(2, fullPrice: 71), network.ask(2, fullPrice: 70)])
    #expect(partition.grants.map(\.amount.value) == [800, 70])
  }

  @Test("B4: partitions that race for one campaign never exceed its budget, and use all of it")
  func race() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000)
    async let first = onOwnThread { try Self.draw(network, partition: 0) }
    async let second = onOwnThread { try Self.draw(network, partition: 1) }
    _ = try await (first, second)
    // 7 goes 142 times into 1,000, and of 200 draws the others are unfunded.
    #expect(try network.numbers("SELECT charged, allotted FROM treasury.campaign") == [994, 0])
    #expect(
      try network.numbers(
        """
        SELECT count(*) FILTER (WHERE fate = vocabulary.charge_fate('charged')),
          count(*) FILTER (WHERE fate = vocabulary.charge_fate('unfunded')), count(*),
          count(DISTINCT draw_version)
        FROM billing.charge
        """) == [142, 58, 200, 200])
    try expectSound(network)
  }

  private static func draw(_ network: TestNetwork, partition: Int32) throws {
    let partition = try BillingPartition(network, partition)
    for _ in 0..<20 { try partition.process((0..<5).map { _ in try partition.click(0, price: 7) }) }
  }

  @Test("I5, I6: whatever happens, in whatever order, every nano is accounted for", arguments: [UInt64(1), 2, 3])
  func random(seed: UInt64) async throws {
    let network = try await TestNetwork(funding: 3_000)
    try network.fund(5_000, daily: 2_500)
    var numbers = SeededChance(seed: seed)
    let partition = try BillingPartition(network)
    var ordinal: Int64 = 0
    for version in Int64(2)..<40 {
      var events: [BillingInput] = []
      for _ in 0..<Int.random(in: 1...30, using: &numbers) {
        let allotment = partition.grants.randomElement(using: &numbers)?.allotment ?? 0
        switch Int.random(in: 0..<10, using: &numbers) {
        case 0:
          ordinal += 1
          events.append(try network.ask(ordinal, used: .random(in: 0...300, using: &numbers), fullPrice: 10))
        case 1:
          let used = Nanos(.random(in: 0...300, using: &numbers))
          events.append(
            .report(AllotmentReport(allotment: allotment, used: used, usedForClicks: .zero, closedAt: network.now)))
        case 2...5: events.append(try partition.click(allotment, price: .random(in: 0...40, using: &numbers)))
        default: events.append(try partition.impression(allotment, price: .random(in: 0...3, using: &numbers)))
        }
      }
      try partition.process(events)
      if Int.random(in: 0..<12, using: &numbers) == 0 {
        try partition.pass(network.now.advanced(byMilliseconds: version * 86_400_000))
      }
      if Int.random(in: 0..<4, using: &numbers) == 0 {
        try network.fund(.random(in: 0...6_000, using: &numbers), daily: 2_500, version: version)
      }
      try partition.writeCounts()
      try expectSound(network)
    }
    try partition.pass(network.now.advanced(byMilliseconds: 100 * 86_400_000))
    try partition.writeCounts()
    try expectSound(network)
    #expect(try network.numbers("SELECT allotted FROM treasury.account") == [0])
    #expect(try network.numbers("SELECT count(DISTINCT fate) FROM billing.charge")[0] >= 2)
  }

  /// That shared rows, allotments, fates and the ledger say the same (I5, I6, B3).
  private func expectSound(_ network: TestNetwork) throws {
    let sums = try network.numbers(
      """
      WITH allotment AS (SELECT sum(amount) FILTER (WHERE state < vocabulary.allotment_state('ended')) AS open,
          sum(charged) FILTER (WHERE state < vocabulary.allotment_state('ended')) AS pending,
          sum(charged) FILTER (WHERE state = vocabulary.allotment_state('ended')) AS ended
        FROM billing.allotment),
      charge AS (SELECT sum(amount) AS amount, sum(amount) FILTER (WHERE draw_version IS NOT NULL) AS drawn,
          sum(developer_amount) AS developer FROM billing.charge),
      ledger AS (SELECT sum(debit) FILTER (WHERE account LIKE 'advertiser:%') AS advertiser,
          sum(credit) FILTER (WHERE account LIKE 'developer:%') AS developer, sum(debit) - sum(credit) AS difference
        FROM billing.posting)
      SELECT a.allotted - coalesce(t.open, 0), a.charged - coalesce(t.ended, 0) - coalesce(c.drawn, 0),
        a.allotted - m.allotted, a.charged - m.charged,
        a.allotted - coalesce(d.allotted, 0), a.charged - coalesce(d.charged, 0),
        coalesce(c.amount, 0) - coalesce(l.advertiser, 0), coalesce(c.developer, 0) - coalesce(l.developer, 0),
        coalesce(l.difference, 0), a.charged + coalesce(t.pending, 0) - coalesce(l.advertiser, 0),
        coalesce((SELECT sum(debit) - sum(credit) FROM billing.balance), 0),
        coalesce((SELECT sum(gross) FROM billing.minute_revenue), 0) - coalesce(c.amount, 0)
      FROM treasury.account a CROSS JOIN treasury.campaign m LEFT JOIN treasury.campaign_day d ON true
        CROSS JOIN allotment t CROSS JOIN charge c CROSS JOIN ledger l
      """)
    #expect(sums == Array(repeating: 0, count: 12))
  }
}
