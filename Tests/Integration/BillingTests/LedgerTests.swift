import AdCore
import AdEvents
import BillingCore
import Pipeline
import Postgres
import TestValues
import Testing

@Suite("Charges and the ledger in the database")
struct LedgerTests {
  @Test("golden case: 2,287.00 for the advertiser, 1,372.20 for the developer, and then not a nano more")
  func golden() async throws {
    let network = try await TestNetwork()
    let budget: Int64 = 2_287_000_000_000
    try network.fund(Int128(budget))
    let partition = try BillingPartition(network, partitionCount: 1)
    try partition.process([network.ask(1, used: budget, clickPrice: 2_000_000_000)])
    let grant = try #require(partition.grants.first)
    #expect(grant.amount == Nanos(budget))
    // Nothing is left beside it, so each ad sets aside the whole price of its click.
    #expect(grant.clickRates == .full)
    try partition.process((0..<9_300).map { _ in try partition.impression(grant.allotment) })
    try partition.process((0..<1_097).map { _ in try partition.click(grant.allotment) })
    #expect(try network.numbers(balances) == [2_287_000_000_000, 1_372_200_000_000, 914_800_000_000, 0])
    // One more waits for what the allotment may return.
    try partition.process([partition.click(grant.allotment)])
    #expect(try network.numbers(balances) == [2_287_000_000_000, 1_372_200_000_000, 914_800_000_000, 0])
    #expect(
      try network.numbers("SELECT count(*), max(fate), sum(price) FROM billing.waiting") == [1, 4, 2_000_000_000])
    try partition.process([
      .report(
        AllotmentReport(allotment: grant.allotment, used: grant.amount, usedForClicks: .zero, closedAt: network.now))
    ])
    // It returns nothing: the network pays for what no budget is left for; the developer is paid all the same.
    try partition.pass(network.now.advanced(byMilliseconds: 86_400_000))
    #expect(try network.numbers(balances) == [2_287_000_000_000, 1_373_400_000_000, 914_800_000_000, 1_200_000_000])
    #expect(try network.numbers("SELECT count(*) FROM billing.waiting") == [0])
    // After the end nobody pays and nobody is paid.
    try partition.process([partition.click(grant.allotment)])
    #expect(try network.numbers(balances) == [2_287_000_000_000, 1_373_400_000_000, 914_800_000_000, 1_200_000_000])
    try partition.writeCounts()
    let shared = "SELECT charged, allotted, funded FROM treasury."
    for table in ["campaign", "campaign_day"] {
      #expect(try network.numbers(shared + table) == [Int128(budget), 0, Int128(budget)])
    }
    #expect(
      try network.numbers(
        """
        SELECT count(*) FILTER (WHERE fate = vocabulary.charge_fate('charged')),
          count(*) FILTER (WHERE fate = vocabulary.charge_fate('unfunded')),
          count(*) FILTER (WHERE fate = vocabulary.charge_fate('late')),
          (SELECT sum(events) FROM billing.minute_revenue) FROM billing.charge
        """) == [10_397, 1, 1, 10_399])
  }

  @Test("M6: revenue that no table has yet is counted again by the next owner, from the charges, to the nano")
  func countedAgain() async throws {
    let network = try await TestNetwork()
    try network.fund(10_000)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1, used: 1_000, fullPrice: 25)])
    let grant = try #require(partition.grants.first)
    // Charged by the allotment, drawn, waiting, unfunded and free: two batches that are counted, and two that are not.
    func batch() throws {
      try partition.process([
        partition.impression(grant.allotment, price: 3), partition.impression(grant.allotment, price: 7),
        partition.click(0, price: 20), partition.click(0, price: 1_000_000), partition.impression(0, price: 0),
      ])
    }
    let differing = """
      WITH charged AS (
        SELECT kind, fate, campaign, count(*) AS events, sum(amount) AS gross, sum(developer_amount) AS developer,
          sum(network_amount) AS network FROM billing.charge GROUP BY 1, 2, 3
      ), counted AS (
        SELECT kind, fate, campaign, sum(events) AS events, sum(gross) AS gross, sum(developer_amount) AS developer,
          sum(network_amount) AS network FROM billing.all_revenue GROUP BY 1, 2, 3
      )
      SELECT count(*), count(*) FILTER (WHERE (c.events, c.gross, c.developer, c.network)
        IS DISTINCT FROM (r.events, r.gross, r.developer, r.network))
      FROM charged c FULL JOIN counted r USING (kind, fate, campaign)
      """
    try batch()
    try batch()
    try partition.writeCounts()
    #expect(try network.numbers(differing) == [3, 0])
    try batch()
    try batch()
    // What no budget paid, the database decided and counted with its batch; what allotments pay is counted later.
    let uncounted = try network.numbers(differing)
    #expect(uncounted == [3, 2])
    try partition.takeOver()
    try partition.writeCounts()
    #expect(try network.numbers(differing) == [3, 0])
    try batch()
    try partition.writeCounts()
    #expect(try network.numbers(differing) == [3, 0])
  }

  private let balances = """
    SELECT coalesce(sum(debit) FILTER (WHERE account = 'advertiser:acme'), 0),
      coalesce(sum(credit) FILTER (WHERE account = 'developer:sunny'), 0),
      coalesce(sum(credit) FILTER (WHERE account = 'network:revenue'), 0),
      coalesce(sum(debit) FILTER (WHERE account = 'network:unfunded'), 0) FROM billing.balance
    """

  @Test("an event after the end is charged while there is free budget")
  func lateButFunded() async throws {
    let network = try await TestNetwork()
    try network.fund(2_010_000_000)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1)])
    let grant = try #require(partition.grants.first)
    try partition.pass(network.now.advanced(byMilliseconds: 86_400_000))
    #expect(try network.numbers("SELECT charged, allotted FROM treasury.campaign") == [0, 0])
    try partition.process([partition.click(grant.allotment), partition.click(grant.allotment)])
    #expect(try network.numbers("SELECT charged, allotted FROM treasury.campaign") == [2_000_000_000, 0])
    #expect(try network.numbers("SELECT min(fate), max(fate) FROM billing.charge") == [1, 3])
  }

  @Test("B4: an event whose allotment is forgotten is late as after the end of any other")
  func forgotten() async throws {
    let network = try await TestNetwork()
    try network.fund(2_010_000_000)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1)])
    let grant = try #require(partition.grants.first)
    try partition.pass(network.now.advanced(byMilliseconds: 86_400_000))
    try network.connect().executeScript("DELETE FROM billing.allotment")
    try partition.takeOver()
    try partition.process([partition.click(grant.allotment), partition.click(grant.allotment)])
    #expect(
      try network.numbers("SELECT min(fate), max(fate), min(allotment), max(allotment) FROM billing.charge")
        == [1, 3, Int128(grant.allotment), Int128(grant.allotment)])
    #expect(try network.numbers("SELECT charged, allotted FROM treasury.campaign") == [2_000_000_000, 0])
    #expect(try network.numbers(balances) == [2_000_000_000, 1_200_000_000, 800_000_000, 0])
  }

  @Test("an event that the database refuses goes into suspense, and the others are charged")
  func suspense() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000_000_000_000)
    let partition = try BillingPartition(network)
    var events = try (0..<6).map { _ in try partition.impression(0) }
    // No table has been kept for a day that long ago.
    events.insert(
      try partition.impression(0, issuedAt: network.now.advanced(byMilliseconds: -90 * 86_400_000)), at: 3)
    let summary = try partition.process(events)
    #expect(summary.outcomes[Int(Outcome.suspense.rawValue)] == 1)
    #expect(summary.outcomes[Int(Outcome.accepted.rawValue)] == 6)
    #expect(
      try network.numbers("SELECT count(*), (SELECT min(sequence) FROM billing.suspense) FROM billing.charge") == [
        6, 4,
      ])
  }

  @Test(
    "the database itself is the judge",
    arguments: [
      ("UPDATE treasury.campaign SET charged = funded + 1", "23514"),
      ("UPDATE treasury.account SET allotted = funded - charged + 1", "23514"),
      ("UPDATE treasury.campaign_day SET charged = funded + 1", "23514"),
      ("UPDATE billing.allotment SET charged = amount + 1", "23514"),
      ("UPDATE billing.charge_row SET terms = NULL", "23502"),
      ("UPDATE billing.posting SET debit = debit + 1", "HB003"),
      ("DELETE FROM billing.posting", "HB003"), ("TRUNCATE billing.posting", "HB003"),
      ("INSERT INTO billing.posting VALUES (0, 99, 'advertiser:acme', 'USD', 1, 0)", "HB004"),
      // Two currencies do not make up for each other.
      ("INSERT INTO billing.posting VALUES (0, 99, 'a', 'USD', 1, 0), (0, 99, 'b', 'EUR', 0, 1)", "HB004"),
      // A sum that does not fit is an error with a name (B3).
      ("UPDATE treasury.account SET requested = requested * 10 ^ 37", "22003"),
    ])
  func constraints(sql: String, state: String) async throws {
    let network = try await TestNetwork()
    try network.fund(1_000_000_000_000)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1), partition.impression(0)])
    let connection = try network.connect()
    defer { connection.close() }
    let error = #expect(throws: PostgresError.self) { try connection.executeScript(sql) }
    #expect(error?.sqlState == state)
  }

  @Test("B3: a balance that would not fit any more stops the batch with its name, and changes nothing")
  func overflow() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000_000_000_000)
    let partition = try BillingPartition(network)
    try partition.process([partition.impression(0)])
    let connection = try network.connect()
    defer { connection.close() }
    try connection.executeScript("UPDATE billing.balance SET debit = repeat('9', 38)::numeric WHERE debit > 0")
    let summary = try partition.process([partition.impression(0)])
    #expect(summary.outcomes[Int(Outcome.suspense.rawValue)] == 1)
    #expect(try network.numbers("SELECT charged FROM treasury.campaign") == [10_000_000])
    #expect(try network.numbers("SELECT count(*) FROM billing.posting WHERE batch_number > 1") == [0])
  }
}
