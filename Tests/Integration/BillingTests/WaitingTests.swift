import AdCore
import AdEvents
import Pipeline
import Postgres
import TestValues
import Testing

@testable import BillingCore

@Suite("B4: events that wait for budget, in the database")
struct WaitingTests {
  private let fates = """
    SELECT count(*) FILTER (WHERE fate = vocabulary.charge_fate('charged')),
      count(*) FILTER (WHERE fate = vocabulary.charge_fate('unfunded')),
      count(*) FILTER (WHERE fate = vocabulary.charge_fate('late')),
      (SELECT count(*) FROM billing.waiting), (SELECT min(waiting) FROM treasury.campaign_day) FROM billing.charge
    """

  private func report(_ grant: AllotmentGrant, used: Int64, at now: Timestamp) -> BillingInput {
    .report(AllotmentReport(allotment: grant.allotment, used: Nanos(used), usedForClicks: .zero, closedAt: now))
  }

  @Test("what an allotment that nobody used holds pays for clicks once it closes, also after a crash")
  func paidAfterClose() async throws {
    let network = try await TestNetwork()
    try network.fund(900)
    let partition = try BillingPartition(network)
    for ordinal in Int64(1)...3 { try partition.process([network.ask(ordinal, used: 300, fullPrice: 25)]) }
    let grants = partition.grants
    #expect(grants.map(\.amount.value) == [300, 300, 300])
    try partition.process((0..<4).map { _ in try partition.click(grants[0].allotment, price: 20) })
    #expect(try network.numbers(fates) == [0, 0, 0, 4, 80])
    try partition.takeOver()
    try partition.process([report(grants[2], used: 250, at: network.now)])
    // 50 are back: two clicks of 20, and not the third.
    #expect(try network.numbers(fates) == [2, 0, 0, 2, 40])
    try partition.process([report(grants[1], used: 0, at: network.now)])
    #expect(try network.numbers(fates) == [4, 0, 0, 0, 0])
    #expect(try network.numbers("SELECT sum(debit), sum(credit) FROM billing.balance") == [80, 80])
    #expect(try network.numbers("SELECT sum(gross), sum(events) FROM billing.minute_revenue") == [80, 4])
    #expect(try network.numbers("SELECT waiting, charged FROM treasury.account") == [0, 80])
  }

  @Test("it waits no longer than for what may still return: then the network bears it and the developer is paid")
  func unfunded() async throws {
    let network = try await TestNetwork()
    try network.fund(100)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1, used: 100, fullPrice: 25)])
    let grant = try #require(partition.grants.first)
    // No return can ever pay 101; what the allotment holds may pay 100, and then nothing is left for the next.
    try partition.process([
      partition.click(0, price: 101), partition.click(0, price: 100), partition.click(0, price: 1),
    ])
    #expect(try network.numbers(fates) == [0, 1, 0, 2, 101])
    try partition.process([report(grant, used: 0, at: network.now)])
    #expect(try network.numbers(fates) == [1, 2, 0, 0, 0])
    #expect(try network.numbers("SELECT charged FROM treasury.campaign") == [100])
  }

  @Test("what comes later waits behind what waits, also where it would find budget")
  func inOrder() async throws {
    let network = try await TestNetwork()
    try network.fund(100)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1, used: 90, fullPrice: 25)])
    let grant = try #require(partition.grants.first)
    try partition.process([partition.click(0, price: 20), partition.click(0, price: 5)])
    try partition.process([partition.click(0, price: 5)])
    #expect(try network.numbers(fates) == [0, 0, 0, 3, 30])
    try partition.process([report(grant, used: 85, at: network.now)])
    // 15 are free: the first still waits, and all behind it.
    #expect(try network.numbers(fates) == [0, 0, 0, 3, 30])
    try partition.pass(network.now.advanced(byMilliseconds: 86_400_000))
    #expect(try network.numbers(fates) == [3, 0, 0, 0, 0])
    let order = """
      SELECT count(DISTINCT draw_version), count(*) FILTER (WHERE is_early) FROM (
        SELECT draw_version, serve_id < lag(serve_id) OVER (ORDER BY draw_version) AS is_early FROM billing.charge
      ) AS charges
      """
    #expect(try network.numbers(order) == [3, 0])
  }

  @Test("grants and late events leave alone what is waited for")
  func setApart() async throws {
    let network = try await TestNetwork()
    try network.fund(100)
    let first = try BillingPartition(network, 0)
    let second = try BillingPartition(network, 1)
    try first.process([network.ask(1, used: 60, fullPrice: 25)])
    try second.process([network.ask(1, used: 20, fullPrice: 20)])
    let ended = try #require(second.grants.first).allotment
    try second.pass(network.now.advanced(byMilliseconds: 86_400_000))
    // 40 are free; 45 waits for them and for what the first allotment may return.
    try first.process([first.click(0, price: 45)])
    #expect(try network.numbers(fates) == [0, 0, 0, 1, 45])
    try second.process([network.ask(2, fullPrice: 10)])
    #expect(second.grants.count == 1)
    try second.process([second.click(ended, price: 10)])
    #expect(try network.numbers(fates) == [0, 0, 1, 1, 45])
    // An event in time of another partition is as good as the one that waits.
    try second.process([second.click(0, price: 10)])
    #expect(try network.numbers(fates) == [1, 0, 1, 1, 45])
    try network.fund(120, version: 2)
    // Nothing moves the campaign's budget but the catalogue: who takes the partition over looks at what waits by itself.
    try first.takeOver()
    try first.pass(network.now)
    #expect(try network.numbers(fates) == [2, 0, 1, 0, 0])
    try second.process([network.ask(2, fullPrice: 5)])
    #expect(second.grants.map(\.amount.value) == [20, 5])
  }

  @Test(
    "grants carry the click rates that were seen: an ad's own, its campaign's, the network's; all where budget is scarce"
  )
  func rates() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000_000)
    let clock = MovingClock(network.now)
    let partition = try BillingPartition(network, clock: clock)
    let ask = { (ordinal: Int64) in try network.ask(ordinal, fullPrice: 25, clickPrice: 20) }
    try partition.process([ask(1)])
    try partition.process((0..<400).map { _ in try partition.impression(0, price: 5) })
    try partition.process((0..<96).map { _ in try partition.click(0, price: 20) })
    // Clicks that have just come are counted soon.
    clock.advance(byMilliseconds: UnstoredClickCounts.intervalMilliseconds)
    try partition.pass(network.now)
    try partition.process([ask(2)])
    let counts = "SELECT sum(clicks), sum(impressions), count(*) FROM billing.click_count"
    #expect(try network.numbers(counts) == [3 * 96, 3 * 400, 3])
    let rates = partition.grants.map(\.clickRates)
    #expect(rates[0] == ClickCounts().bounds(prior: BillingSettings().prior))
    let seen = ClickCount(clicks: 96, impressions: 400)
    let summer = try #require(AdID("summer-1"))
    #expect(
      rates[1]
        == ClickCounts(network: seen, campaign: seen, ads: [summer: seen]).bounds(prior: BillingSettings().prior))
    // 20 clicks' worth and less is left beside the grant.
    try network.fund(try network.numbers("SELECT charged + allotted FROM treasury.campaign")[0] + 424, version: 2)
    try partition.process([ask(3)])
    #expect(partition.grants.last?.clickRates == .full)
    try network.publish(.deleted(key: "campaign/summer", version: 3))
    #expect(try network.numbers("SELECT count(*) FROM billing.click_count") == [1])
  }

  @Test("an event that no table would take as a charge does not wait, but goes into suspense alone")
  func refused() async throws {
    let network = try await TestNetwork()
    try network.fund(100)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1, used: 100, fullPrice: 25)])
    let grant = try #require(partition.grants.first)
    let longAgo = network.now.advanced(byMilliseconds: -90 * 86_400_000)
    try partition.process([
      partition.click(0, price: 20), partition.impression(0, price: 5, issuedAt: longAgo),
      partition.click(0, price: 20),
    ])
    #expect(try network.numbers(fates) == [0, 0, 0, 2, 40])
    #expect(try network.numbers("SELECT count(*), sum(price) FROM billing.suspense") == [1, 5])
    try partition.process([report(grant, used: 0, at: network.now)])
    #expect(try network.numbers(fates) == [2, 0, 0, 0, 0])
  }

  @Test("beyond what is remembered both counts of a click rate are halved")
  func halved() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000_000)
    var settings = BillingSettings()
    settings.rememberedImpressions = 100
    let clock = MovingClock(network.now)
    let partition = try BillingPartition(network, settings: settings, clock: clock)
    for _ in 0..<2 {
      clock.advance(byMilliseconds: UnstoredClickCounts.intervalMilliseconds)
      try partition.process((0..<60).map { _ in try partition.impression(0, price: 5) })
      clock.advance(byMilliseconds: UnstoredClickCounts.intervalMilliseconds)
      try partition.process((0..<10).map { _ in try partition.click(0, price: 20) })
    }
    #expect(
      try network.numbers(
        "SELECT min(clicks), max(clicks), min(impressions), max(impressions) FROM billing.click_count")
        == [15, 15, 60, 60])
  }
}
