import AdCore
import AdEvents
import Pipeline
import TestValues
import Testing

@testable import BillingCore

@Suite("Allotments")
struct AllotmentTests {
  @Test("an ask is passed on with its budget and the end of its budget day or flight")
  func ask() throws {
    let samples = try Samples()
    var decider = samples.decider()
    let decision = decider.decide([samples.ask()], knowing: try samples.campaign())
    let ask = try #require(decision.effects.asks.first)
    #expect(ask.budget == samples.budget)
    // Midnight after 2026-01-15, UTC.
    #expect(ask.endsAt == Timestamp(milliseconds: Int64(Samples.day + 1) * 86_400_000))
    #expect(decision.outcomes == [.noted])
    let flightEnd = Samples.now.advanced(byMilliseconds: 1)
    let short = try samples.campaign { $0.flightEnd = flightEnd }
    #expect(decider.decide([samples.ask()], knowing: short).effects.asks.map(\.endsAt) == [flightEnd])
  }

  @Test("B4: nothing is granted on another day, outside of the flight, to a paused campaign, from another's account")
  func refusedAsks() throws {
    let samples = try Samples()
    let other = try #require(AdvertiserID("other"))
    let euro = try #require(Currency("EUR"))
    let asks = [
      samples.ask { $0.budgetDay += 1 }, samples.ask { $0.budgetDay -= 1 }, samples.ask { $0.advertiser = other },
      samples.ask { $0.currency = euro }, samples.ask { $0.fullPrice = .zero },
      samples.ask { $0.clickPrice = Nanos($0.fullPrice.value + 1) },
    ]
    var decider = samples.decider()
    let decision = decider.decide(asks, knowing: try samples.campaign())
    #expect(decision.effects.asks.isEmpty)
    // Each at its own budget; the last two at the same.
    #expect(try decision.answers.map { try samples.wait($0) } == [1_000, 1_000, 1_000, 1_000, 1_000, 2_000])
    let campaigns = [
      BillingKnowledge(), try samples.campaign { $0.isPaused = true },
      try samples.campaign { $0.flightEnd = Samples.now },
      try samples.campaign { $0.flightStart = Samples.now.advanced(byMilliseconds: 1) },
    ]
    for campaign in campaigns {
      #expect(decider.decide([samples.ask()], knowing: campaign).effects.asks.isEmpty)
    }
  }

  @Test(
    "an ask that the database does not grant is answered with a time to wait, which doubles until something is back")
  func waits() throws {
    let samples = try Samples()
    let campaign = try samples.campaign()
    var decider = samples.decider(samples.allotment(amount: 100))
    /// How long the asks of a batch are told to wait when nothing is granted.
    func waits(_ asks: BillingInput...) throws -> [Int64] {
      let decision = decider.decide(asks, knowing: campaign)
      #expect(decision.effects.asks.count == asks.count && decision.answers.isEmpty)
      return try decider.committed(CommitResult()).map { try samples.wait($0) }
    }
    #expect(
      try (0..<6).map { _ in try waits(samples.ask()) } == [1_000, 2_000, 4_000, 8_000, 16_000, 16_000].map { [$0] })
    #expect(decider.committed(CommitResult()).isEmpty)
    _ = decider.decide([
      .report(
        AllotmentReport(
          allotment: samples.terms.allotment, used: .zero, usedForClicks: .zero, closedAt: Samples.now))
    ])
    #expect(try waits(samples.ask(), samples.ask { $0.ordinal = 2 }) == [1_000, 2_000])
    _ = decider.decide([samples.ask { $0.ordinal = 1 }, samples.ask { $0.ordinal = 2 }], knowing: campaign)
    let grant = AllotmentGrant(
      allotment: AllotmentID.make(partition: 3, sequence: 2), ordinal: 1, campaign: samples.budget.campaign,
      budgetDay: Samples.day, amount: Samples.cpm10, serveUntil: Samples.now, clickRates: .full)
    let result = CommitResult(messages: [BillingService.message(grant, partition: 3, grantedAt: Samples.now)])
    #expect(try decider.committed(result).map { try samples.wait($0) } == [1_000])
  }

  @Test("beyond what is remembered every ask waits the shortest time, until what is old is forgotten")
  func manyRefused() throws {
    let samples = try Samples()
    var refused = RefusedAsks(waits: 1_000...4_000)
    func wait(_ day: Int32, at milliseconds: Int64) -> Int64 {
      var ask = samples.allotmentAsk
      ask.budgetDay = day
      return refused.refuse(ask, now: Samples.now.advanced(byMilliseconds: milliseconds)).waitMilliseconds
    }
    for day in 0..<Int32(RefusedAsks.budgetsMaximum) { #expect(wait(day, at: 0) == 1_000) }
    let (remembered, beyond) = (Int32(0), Int32(RefusedAsks.budgetsMaximum))
    #expect([wait(beyond, at: 1), wait(beyond, at: 2), wait(remembered, at: 2)] == [1_000, 1_000, 2_000])
    #expect([wait(beyond, at: 8_001), wait(beyond, at: 8_002)] == [1_000, 2_000])
    #expect(wait(remembered, at: 8_002) == 4_000)
  }

  @Test("a report closes its allotment once, and leaves what is used or charged already")
  func close() throws {
    let samples = try Samples()
    let id = samples.terms.allotment
    var decider = samples.decider(samples.allotment(amount: 100, charged: 30))
    let report = BillingInput.report(
      AllotmentReport(allotment: id, used: Nanos(40), usedForClicks: Nanos(7), closedAt: Samples.now))
    let lower = BillingInput.report(
      AllotmentReport(allotment: id, used: Nanos(10), usedForClicks: Nanos(7), closedAt: Samples.now))
    let decision = decider.decide([report, lower, report])
    #expect(decision.effects.closes.map(\.used.value) == [40])
    #expect(decision.outcomes == [.noted, .noted, .noted])
    #expect(decider.open[id]?.amount == 40)
    var charged = samples.decider(samples.allotment(amount: 100, charged: 30))
    _ = charged.decide([lower])
    #expect(charged.open[id]?.amount == 30)
  }

  @Test("what was sold from a closed allotment is charged to it, as far as it goes")
  func chargeClosed() throws {
    let samples = try Samples()
    let price = Samples.cpm10.value
    var decider = samples.decider(samples.allotment(amount: price * 10))
    let report = BillingInput.report(
      AllotmentReport(
        allotment: samples.terms.allotment, used: Nanos(price), usedForClicks: .zero, closedAt: Samples.now))
    let decision = decider.decide([report, samples.impression(), samples.impression()])
    #expect(decision.effects.charges.map(\.fate) == [.charged, .drawing])
    #expect(decision.effects.draws.map(\.isLate) == [false])
  }

  @Test(
    "an allotment ends once both watermarks have passed the last event that could come",
    arguments: [(1, 1, true), (0, 1, false), (1, 0, false)])
  func end(impressions: Int64, clicks: Int64, isDue: Bool) throws {
    let samples = try Samples()
    let settings = BillingSettings()
    // 20 min of token life, 1 h of tap delay, 10 min of margin.
    #expect(settings.endDelayMilliseconds == 90 * 60_000)
    let last = Samples.now.advanced(byMilliseconds: settings.endDelayMilliseconds)
    let watermarks = (
      impressions: last.advanced(byMilliseconds: impressions), clicks: last.advanced(byMilliseconds: clicks)
    )
    var decider = samples.decider(samples.allotment(amount: Samples.cpm10.value * 2))
    #expect(decider.isTimerDue(.sample(watermarks: watermarks)) == isDue)
    // Never beside records: what the database thinks of an end must not stop them.
    #expect(decider.decide([samples.impression()], watermarks: watermarks).effects.ends.isEmpty)
    let ends = decider.decide([], watermarks: watermarks).effects.ends
    #expect(ends.map(\.allotment) == (isDue ? [samples.terms.allotment] : []))
    let after = decider.decide([samples.impression()]).effects.draws
    #expect(after.map(\.isLate) == (isDue ? [true] : []))
  }

  @Test("a grant that was committed can be charged; its message is the same when it is made again")
  func grant() throws {
    let samples = try Samples()
    var decider = samples.decider()
    _ = decider.decide([samples.ask()], knowing: try samples.campaign(), nextGrant: 1)
    let grant = AllotmentGrant(
      allotment: samples.terms.allotment, ordinal: 1, campaign: samples.budget.campaign, budgetDay: Samples.day,
      amount: Samples.cpm10, serveUntil: Samples.now, clickRates: .full)
    let message = BillingService.message(grant, partition: 3, grantedAt: Samples.now)
    #expect(message.sequence == 1)
    #expect(message == BillingService.message(grant, partition: 3, grantedAt: Samples.now))
    #expect(decider.committed(CommitResult(messages: [message])).isEmpty)
    #expect(decider.open[grant.allotment]?.budget == samples.budget)
    let decision = decider.decide([samples.impression(), samples.impression()], nextGrant: 2)
    #expect(decision.effects.charges.map(\.fate) == [.charged, .drawing])
  }

  @Test("budgets are locked once each, ascending (account, campaign, day)")
  func levels() throws {
    let samples = try Samples()
    func budget(_ advertiser: String, _ campaign: String, _ day: Int32) throws -> BudgetKey {
      BudgetKey(
        advertiser: try #require(AdvertiserID(advertiser)), currency: samples.budget.currency,
        campaign: try #require(CampaignID(campaign)), day: day)
    }
    let budgets = [
      try budget("b", "a", 1), try budget("a", "z", 2), try budget("a", "z", 1), try budget("a", "c", 9),
    ]
    let levels = BudgetLevels(Set(budgets))
    #expect(levels.advertisers.map(\.text) == ["a", "b"])
    #expect(levels.campaigns.map(\.text) == ["c", "z", "a"])
    #expect(levels.campaignAccounts == [1, 1, 2])
    #expect(levels.days == [9, 1, 2, 1])
    #expect(levels.dayCampaigns == [1, 2, 2, 3])
    #expect(budgets.map(levels.index) == [4, 3, 2, 1])
    #expect(levels.index(of: samples.budget) == 0)
  }
}
