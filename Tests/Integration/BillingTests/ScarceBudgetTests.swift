import AdCore
import AdEvents
import AdSelectionCore
import BillingCore
import LocalProcesses
import Pipeline
import Synchronization
import TestValues
import Testing

@Suite("Scarce budgets")
struct ScarceBudgetTests {
  @Test(
    "B4: a scarce budget sells out, and nothing it could pay is unfunded, with a click rate far above the prior",
    arguments: [(UInt64(1), false), (1, true)])
  func sellsOut(seed: UInt64, dies: Bool) async throws {
    let network = try await TestNetwork(hour: 1)
    let money = try await onOwnThread {
      var market = try Market(network, seed: seed, billingDies: dies)
      try market.run()
      return try market.money()
    }
    // At most one ad's price stays unsold.
    #expect(money.charged > Market.budget - Market.fullPrice, "\(money)")
    #expect(money.charged <= Market.budget)
    // Beyond the budget is the network's loss, and nothing else is.
    #expect(money.unfunded == max(0, money.delivered - money.charged), "\(money)")
    #expect(money.unfunded == 0 || money.delivered > Market.budget - Int128(Market.clickPrice), "\(money)")
    #expect(money.waiting == 0 && money.allotted == 0)
    #expect((money.restarts > 0) == dies)
  }

  @Test("B4, I4: what was delivered within a budget is charged whole, whatever the order, the batches and the crashes")
  func sameMoney() async throws {
    var charged: Set<Int128> = []
    for seed in UInt64(1)...4 {
      let network = try await TestNetwork(hour: 1)
      let sums = try await onOwnThread { try Self.deliver(network, seed: seed) }
      // Charged, unfunded, late, waiting.
      #expect(Array(sums.dropFirst()) == [0, 0, 0], "seed \(seed): \(sums)")
      charged.insert(sums[0])
    }
    #expect(charged == [Int128(20 * Market.impressionPrice + 44 * Market.clickPrice)])
  }

  /// Twenty ads are sold from four allotments that hold the whole budget, at a bound far too low, and are clicked more
  /// often than that; two allotments are not used. Events, reports and crashes come in an order of the seed's.
  private static func deliver(_ network: TestNetwork, seed: UInt64) throws -> [Int128] {
    var numbers = SeededChance(seed: seed)
    try network.fund(Int128(20 * Market.impressionPrice + 44 * Market.clickPrice))
    let partition = try BillingPartition(network, partitionCount: 1)
    let total = 20 * Market.impressionPrice + 44 * Market.clickPrice
    let asks = try (1...4).map { try network.ask(Int64($0), used: total / 4, fullPrice: 25, clickPrice: 20) }
    for ask in asks { try partition.process([ask]) }
    let grants = partition.grants
    try #require(grants.map(\.amount.value).reduce(0, +) == total)
    var events = try (0..<20).map { try partition.impression(grants[$0 % 2].allotment, price: Market.impressionPrice) }
    events += try (0..<44).map { try partition.click(grants[$0 % 2].allotment, price: Market.clickPrice) }
    events += grants.enumerated().map { number, grant in
      let used = Nanos(number < 2 ? 10 * (Market.impressionPrice + 1) : 0)
      let clicks = Nanos(number < 2 ? 10 : 0)
      return .report(
        AllotmentReport(allotment: grant.allotment, used: used, usedForClicks: clicks, closedAt: network.now))
    }
    events.shuffle(using: &numbers)
    while !events.isEmpty {
      let batch = Array(events.prefix(.random(in: 1...12, using: &numbers)))
      events.removeFirst(batch.count)
      try partition.process(batch)
      if Int.random(in: 0..<4, using: &numbers) == 0 { try partition.takeOver() }
    }
    try partition.pass(network.now.advanced(byMilliseconds: 86_400_000))
    return try network.numbers(
      """
      SELECT coalesce(sum(amount), 0), count(*) FILTER (WHERE fate = vocabulary.charge_fate('unfunded')),
        count(*) FILTER (WHERE fate = vocabulary.charge_fate('late')),
        (SELECT count(*) FROM billing.waiting) FROM billing.charge
      """)
  }
}

/// Ad selection's allotments and billing's tables with a demand that never ends, second by second.
private struct Market {
  static let impressionPrice: Int64 = 5
  static let clickPrice: Int64 = 20
  static let fullPrice = Int128(impressionPrice + clickPrice)
  static let budget: Int128 = 900
  private static let partitions = 2

  struct Money {
    var charged: Int128
    var unfunded: Int128
    var delivered: Int128
    var waiting: Int128
    var allotted: Int128
    var restarts: Int
  }

  /// Something that billing is told at a moment.
  private struct Due {
    var at: Timestamp
    var input: BillingInput
  }

  private let network: TestNetwork
  private let clock: MovingClock
  private let billingDies: Bool
  private var numbers: SeededChance
  private var books: [AllotmentBook]
  private var billing: [BillingPartition]
  private var seenMessages: [Int]
  private var due: [[Due]]
  /// Until when each partition of billing is dead.
  private var deadUntil: [Timestamp]
  private var served: UInt64 = 0
  private var restarts = 0

  init(_ network: TestNetwork, seed: UInt64, billingDies: Bool) throws {
    self.network = network
    self.billingDies = billingDies
    numbers = SeededChance(seed: seed)
    try network.fund(Self.budget, daily: Self.budget)
    let clock = MovingClock(network.now)
    self.clock = clock
    var settings = BillingSettings()
    settings.windows.bannerTokenMilliseconds = 30_000
    settings.windows.interstitialTokenExtraMilliseconds = 0
    settings.windows.contentLifeMilliseconds = 30_000...30_000
    settings.windows.tapDelayMilliseconds = 100...30_000
    settings.endMarginMilliseconds = 10_000
    books = Array(repeating: AllotmentBook(), count: Self.partitions)
    billing = try (0..<Self.partitions).map {
      try BillingPartition(network, Int32($0), settings: settings, partitionCount: Int32(Self.partitions), clock: clock)
    }
    seenMessages = Array(repeating: 0, count: Self.partitions)
    due = Array(repeating: [], count: Self.partitions)
    deadUntil = Array(repeating: network.now, count: Self.partitions)
  }

  /// Until nothing can be sold any more, and everything has ended.
  mutating func run() throws {
    for second in 0..<3_000 {
      clock.advance(byMilliseconds: 1_000)
      for partition in 0..<Self.partitions { try step(partition) }
      if second % 100 == 99, try isSoldOut() { return }
    }
    Issue.record("after 3,000 s there is still something to sell")
  }

  private func isSoldOut() throws -> Bool {
    let day = try network.numbers("SELECT allotted, requested - charged FROM treasury.campaign_day")
    return day[0] == 0 && day[1] < Self.fullPrice
  }

  private mutating func step(_ partition: Int) throws {
    let now = clock.now
    try sell(partition, now: now)
    var inputs: [BillingInput] = books[partition].close(now: now).compactMap {
      AllotmentBook.report(of: $0).map(BillingInput.report)
    }
    let want = AllotmentWant(
      campaign: try #require(CampaignID("summer")), advertiser: network.advertiser.id,
      currency: network.advertiser.currency, budgetDay: network.today.number, fullPrice: Nanos(Int64(Self.fullPrice)),
      clickPrice: Nanos(Self.clickPrice))
    let wants = AllotmentWants([want], version: Int(want.budgetDay))
    inputs += books[partition].asks(for: wants, now: now).map(BillingInput.ask)
    due[partition] += inputs.map { Due(at: now, input: $0) }
    if billingDies, deadUntil[partition] <= now, Int.random(in: 0..<60, using: &numbers) == 0 {
      deadUntil[partition] = now.advanced(byMilliseconds: .random(in: 5_000...40_000, using: &numbers))
      try billing[partition].takeOver()
      seenMessages[partition] = 0
      restarts += 1
    }
    guard deadUntil[partition] <= now else { return }
    let told = due[partition].filter { $0.at <= now }
    due[partition].removeAll { $0.at <= now }
    if !told.isEmpty { try billing[partition].process(told.map(\.input)) }
    // Watermarks each other second: what they end waits a second longer, which changes nothing here.
    if now.milliseconds / 1_000 % 2 == 0 { try billing[partition].pass(now) }
    for grant in billing[partition].grants(after: seenMessages[partition]) { _ = books[partition].apply(grant) }
    seenMessages[partition] = billing[partition].published.messages.count
  }

  /// Two ads a second, of which seven of eight are seen, and of those a quarter is clicked.
  private mutating func sell(_ partition: Int, now: Timestamp) throws {
    let price = AdPrice(
      ad: try #require(AdID("summer-1")), impression: Nanos(Self.impressionPrice), click: Nanos(Self.clickPrice))
    for _ in 0..<2 {
      let reservation = books[partition].reserve(campaign: try #require(CampaignID("summer")), price: price, now: now)
      guard let reservation else { return }
      served += 1
      var terms = try network.terms(served, partition: Int32(partition), issuedAt: now)
      terms.allotment = reservation.allotment
      terms.impressionPrice = price.impression
      terms.clickPrice = price.click
      guard Int.random(in: 0..<8, using: &numbers) > 0 else { continue }
      let seen = now.advanced(byMilliseconds: .random(in: 1_000...20_000, using: &numbers))
      due[partition].append(
        Due(at: seen, input: .event(AcceptedEvent(AcceptedImpression(terms: terms, eventTime: seen, arrival: seen)))))
      guard Int.random(in: 0..<4, using: &numbers) == 0 else { continue }
      let tapped = seen.advanced(byMilliseconds: .random(in: 1_000...25_000, using: &numbers))
      let click = AcceptedClick(terms: terms, idHash: 1, eventTime: tapped, arrival: tapped, verdict: .billable)
      due[partition].append(Due(at: tapped, input: .event(AcceptedEvent(click))))
    }
  }

  func money() throws -> Money {
    let sums = try network.numbers(
      """
      SELECT coalesce(sum(amount), 0),
        coalesce(sum(price) FILTER (WHERE fate = vocabulary.charge_fate('unfunded')), 0), coalesce(sum(price), 0),
        (SELECT count(*) FROM billing.waiting), (SELECT sum(allotted) FROM treasury.account) FROM billing.charge
      """)
    return Money(
      charged: sums[0], unfunded: sums[1], delivered: sums[2], waiting: sums[3], allotted: sums[4], restarts: restarts)
  }
}
