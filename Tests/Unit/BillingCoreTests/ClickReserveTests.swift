import AdCore
import AdEvents
import Pipeline
import Testing

@testable import BillingCore

@Suite("B4: clicks are paid from what is set aside for clicks")
struct ClickReserveTests {
  private let samples: Samples
  private let impression = Samples.cpm10.value
  private let click = Samples.click2.value

  init() throws { samples = try Samples() }

  /// An allotment as it was granted: nothing is known of what was sold from it.
  private func granted(_ sequence: Int64 = 1, amount: Int64, bound: Int64, lasting: Int64 = 0) -> OpenAllotment {
    OpenAllotment(
      id: AllotmentID.make(partition: 3, sequence: sequence), budget: samples.budget, amount: amount,
      clickRates: ClickRateBounds(others: bound), serveUntil: Samples.now.advanced(byMilliseconds: lasting))
  }

  private func named(_ sequence: Int64) -> (inout ServedTerms) -> Void {
    { $0.allotment = AllotmentID.make(partition: 3, sequence: sequence) }
  }

  @Test("clicks that come early leave every impression that was sold its price")
  func impressionsFit() {
    // Four ads were sold, each with a quarter of its click.
    var decider = samples.decider(granted(amount: 4 * (impression + click / 4), bound: 250_000))
    let early = decider.decide([samples.click(), samples.click()])
    #expect(early.effects.charges.map(\.fate) == [.drawing, .drawing])
    let seen = decider.decide(Array(repeating: samples.impression(), count: 4) + [samples.click(), samples.click()])
    #expect(seen.effects.charges.map(\.fate) == [.charged, .charged, .charged, .charged, .charged, .drawing])
    let charge = seen.effects.allotmentCharges[samples.terms.allotment]
    #expect(charge?.amount == 4 * impression + click)
    #expect(charge?.forClicks == click && charge?.reserve == click)
  }

  @Test("a click beyond its own allotment's part is paid by another of the same campaign and day, the soonest to end")
  func pooled() throws {
    var other = samples.budget
    other.day += 1
    var foreign = granted(4, amount: 10 * click, bound: 0)
    (foreign.budget, foreign.clickReserve) = (other, 10 * click)
    var late = granted(2, amount: 10 * click, bound: 0, lasting: 9_000)
    var soon = granted(3, amount: 10 * click, bound: 0, lasting: 5_000)
    (late.clickReserve, soon.clickReserve) = (click, click)
    var decider = samples.decider(granted(amount: 10 * click, bound: 0), late, soon, foreign)
    let decision = decider.decide(Array(repeating: samples.click(), count: 3))
    #expect(decision.effects.charges.map(\.payer) == [soon.id, late.id, nil])
    #expect(decision.effects.charges.map(\.fate) == [.charged, .charged, .drawing])
    #expect(decision.effects.draws.map(\.isLate) == [false])
    #expect(decider.open[soon.id]?.clicksCharged == click)
  }

  @Test("impressions are paid by their own allotment only, and never from what is set aside for clicks elsewhere")
  func impressionsStay() {
    var other = granted(2, amount: 10 * click, bound: 0)
    other.clickReserve = 5 * click
    var decider = samples.decider(granted(amount: impression, bound: 0), other)
    let decision = decider.decide([samples.impression(), samples.impression()])
    #expect(decision.effects.charges.map(\.fate) == [.charged, .drawing])
  }

  @Test("a closed allotment pays clicks as far as its report says, those of ads not seen yet included")
  func closed() {
    var decider = samples.decider(granted(amount: 100 * click, bound: 1))
    let report = AllotmentReport(
      allotment: samples.terms.allotment, used: Nanos(4 * impression + 2 * click), usedForClicks: Nanos(2 * click),
      closedAt: Samples.now)
    let decision = decider.decide([
      .report(report), samples.click(), samples.click(), samples.click(), samples.impression(), samples.impression(),
      samples.impression(), samples.impression(), samples.impression(),
    ])
    let fates = decision.effects.charges.map(\.fate)
    #expect(fates == [.charged, .charged, .drawing, .charged, .charged, .charged, .charged, .drawing])
  }

  @Test("what is seen and clicked is counted by ad, free clicks and what no click costs left out")
  func counted() throws {
    let second = try #require(AdID("summer-2"))
    var decider = samples.decider()
    let effects = decider.decide([
      samples.impression(), samples.impression { $0.ad = second }, samples.click(), samples.click(.repeat),
      samples.impression { $0.clickPrice = .zero }, samples.impression { $0.isTest = true },
    ]).effects
    let counts = Dictionary(effects.clickCounts.map { ($0.key.ad, $0.value) }) { first, _ in first }
    #expect(
      counts == [
        samples.terms.ad: ClickCount(clicks: 1, impressions: 1), second: ClickCount(clicks: 0, impressions: 1),
      ])
    #expect(Set(effects.clickCounts.keys.map(\.campaign)) == [samples.budget.campaign])
  }

  @Test("what was seen and clicked is stored each ten seconds, by the timer where nothing comes, or with many ads")
  func stored() throws {
    var decider = samples.decider(samples.allotment(amount: 1_000_000_000_000))
    let interval = UnstoredClickCounts.intervalMilliseconds
    func stored(_ records: [BillingInput], afterMilliseconds time: Int64) -> [ClickCount] {
      let decision = decider.decide(records, now: Samples.now.advanced(byMilliseconds: time))
      return Array(decision.effects.clickCounts.values)
    }
    func isDue(afterMilliseconds time: Int64) -> Bool {
      decider.isTimerDue(.sample(now: Samples.now.advanced(byMilliseconds: time)))
    }
    #expect(stored([samples.impression()], afterMilliseconds: 0) == [ClickCount(clicks: 0, impressions: 1)])
    #expect(!isDue(afterMilliseconds: interval))
    #expect(stored([samples.impression(), samples.click()], afterMilliseconds: 1).isEmpty)
    #expect(stored([samples.impression()], afterMilliseconds: interval - 1).isEmpty)
    #expect(!isDue(afterMilliseconds: interval - 1) && isDue(afterMilliseconds: interval))
    #expect(stored([], afterMilliseconds: interval) == [ClickCount(clicks: 1, impressions: 2)])
    #expect(stored([], afterMilliseconds: 2 * interval).isEmpty)
    // The clock was set back.
    #expect(stored([samples.impression()], afterMilliseconds: -1) == [ClickCount(clicks: 0, impressions: 1)])
    let ads = try (0..<UnstoredClickCounts.adsMaximum).map { try #require(AdID("ad-\($0)")) }
    #expect(stored(ads.dropLast().map { ad in samples.impression { $0.ad = ad } }, afterMilliseconds: 0).isEmpty)
    #expect(
      stored(ads.suffix(1).map { ad in samples.impression { $0.ad = ad } }, afterMilliseconds: 0).count == ads.count)
  }

  @Test("an ask carries the bounds of what was seen to its grant")
  func bounds() throws {
    var knowledge = try samples.campaign()
    knowledge.clickCounts[samples.budget.campaign] = ClickCounts(campaign: ClickCount(clicks: 240, impressions: 1_000))
    var decider = samples.decider()
    let rates = try #require(decider.decide([samples.ask()], knowing: knowledge).effects.asks.first?.clickRates)
    #expect(rates == knowledge.clickCounts[samples.budget.campaign]?.bounds(prior: BillingSettings().prior))
    #expect(rates.others > 200_000)
  }

  @Test(
    "what may be waiting is asked for and looked at by the timer, once a second, until the tables say nothing waits")
  func looks() {
    var decider = samples.decider()
    #expect(!decider.isTimerDue(.sample()))
    _ = decider.decide([samples.click()])
    #expect(decider.isTimerDue(.sample()))
    #expect(decider.query(for: [], context: .sample()) == BillingQuery(isOfWaiting: true))
    let look = decider.decide([], knowing: BillingKnowledge(waiting: [samples.budget]))
    #expect(look.effects.retried == [samples.budget])
    #expect(!decider.isTimerDue(.sample()))
    #expect(decider.query(for: [], context: .sample()) != nil)
    #expect(decider.decide([], knowing: BillingKnowledge()).effects.retried.isEmpty)
    #expect(decider.query(for: [], context: .sample()) == nil)
  }
}
