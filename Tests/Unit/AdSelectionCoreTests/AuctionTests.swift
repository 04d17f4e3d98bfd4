import AdCore
import AdEvents
import TestValues
import Testing

@testable import AdSelectionCore

@Suite("The auction")
struct AuctionTests {
  private func winner(_ samples: Samples, request number: UInt64 = 1) throws -> String? {
    guard case .served(let serve) = samples.decide(try samples.request(number)).outcome else { return nil }
    return serve.terms.campaign.text
  }

  @Test("B1: a brand ad is worth its impression and its expected clicks, a developer ad its clicks only")
  func expectedValues() throws {
    var samples = try Samples()
    try samples.add(campaign: "store", ad: "store-1", kind: .developer, impressionPrice: 999_000_000)
    samples.clickRates = ClickRates(prior: ClickRateEstimate(priorClicks: 10, priorImpressions: 1_000))
    let values = Dictionary(
      uniqueKeysWithValues: samples.snapshot().base.index.candidates.map { ($0.campaign.text, $0.expectedValue) })
    let brand: Int128 = 10_000_000 * 1_000_000 + 500_000_000 * 10_000
    let developer: Int128 = 500_000_000 * 10_000
    #expect(values == ["summer": brand, "store": developer])
  }

  @Test("the highest expected value wins; a better click rate can turn it")
  func highestValueWins() throws {
    var samples = try Samples()
    try samples.add(campaign: "rich", ad: "rich-1", impressionPrice: 11_000_000)
    #expect(try winner(samples) == "rich")
    let better = try #require(AdID("summer-1"))
    samples.clickRates.estimates[better] = ClickRateEstimate(clicks: 5_000, impressions: 100_000)
    #expect(try winner(samples) == "summer")
  }

  @Test("an ad without an allotment leaves the next best to win")
  func withoutAllotment() throws {
    var samples = try Samples()
    try samples.add(campaign: "rich", ad: "rich-1", impressionPrice: 11_000_000)
    samples.withoutAllotment = [try #require(CampaignID("rich"))]
    let decision = samples.decide(try samples.request())
    #expect(try winner(samples) == "summer")
    #expect(decision.explanation[.noAllotment] == 1)
    #expect(decision.explanation.total == 2)
  }

  @Test("house ads are served only where no paid ad is eligible")
  func houseComesLast() throws {
    var samples = try Samples()
    try samples.add(campaign: "own", ad: "own-1", kind: .house, impressionPrice: 900_000_000)
    #expect(try winner(samples) == "summer")
    samples.campaigns[0].isPaused = true
    let decision = samples.decide(try samples.request())
    guard case .served(let serve) = decision.outcome else {
      Issue.record("\(decision.outcome)")
      return
    }
    #expect(decision.reason == .servedHouse)
    #expect(serve.reservation == nil)
    #expect(serve.terms.impressionPrice == .zero && serve.terms.clickPrice == .zero)
  }

  @Test("ties are broken by request id: every one of them wins, the same request always the same")
  func drawsAmongEquals() throws {
    var samples = try Samples()
    try samples.add(campaign: "autumn", ad: "autumn-1")
    try samples.add(campaign: "winter", ad: "winter-1")
    var wins: [String: Int] = [:]
    for number in 1...300 {
      let first = try #require(try winner(samples, request: UInt64(number)))
      if number % 50 == 0 { #expect(try winner(samples, request: UInt64(number)) == first) }
      wins[first, default: 0] += 1
    }
    #expect(wins.count == 3)
    #expect(wins.values.allSatisfy { (60...140).contains($0) })
  }

  @Test("in which index the equals lie makes no difference to who wins")
  func drawsAcrossLevels() throws {
    var samples = try Samples()
    for name in ["autumn", "spring", "winter", "advent"] { try samples.add(campaign: name, ad: "\(name)-1") }
    let late = Set(["autumn-1", "winter-1"].compactMap(AdID.init))
    var indexed = IndexedCatalog(clickRates: ClickRates())
    var levels = CatalogSnapshot()
    func take(_ records: [CatalogRecord]) {
      for record in records { _ = indexed.apply(.message(.record(record, version: 1))) }
    }
    take(samples.records.filter { if case .ad(let ad) = $0 { !late.contains(ad.id) } else { true } })
    levels.take(indexed.rebuilt(now: Samples.now))
    take(samples.records)
    levels.take(indexed.update(now: Samples.now))
    #expect(levels.recent.index.candidates.map(\.ad.id).count == 2)
    var winners: Set<AdID> = []
    for number in 1...200 as ClosedRange<UInt64> {
      let request = try samples.request(number)
      var context = samples.context()
      var (one, other) = (samples.state, samples.state)
      let whole = RequestDecision.decide(request, state: &one, context: context)
      context.snapshot = levels
      let divided = RequestDecision.decide(request, state: &other, context: context)
      #expect(divided == whole)
      if case .served(let serve) = whole.outcome { winners.insert(serve.terms.ad) }
    }
    #expect(winners.count == 5)
  }
}
