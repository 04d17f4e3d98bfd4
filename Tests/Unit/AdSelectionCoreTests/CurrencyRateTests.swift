import AdCore
import AdEvents
import TestValues
import Testing

@testable import AdSelectionCore

@Suite("An auction among ads of several currencies")
struct CurrencyRateTests {
  private let dollar = known(Currency("USD"))
  private let yen = known(Currency("JPY"))

  /// A campaign of 5.00 USD for a thousand, and one of 150 JPY.
  private func network(ads: ClosedRange<Int> = 1...1) throws -> Samples {
    var samples = try Samples()
    (samples.campaigns[0].impressionPrice, samples.campaigns[0].clickPrice) = (Nanos(5_000_000), .zero)
    let payer = Advertiser.sample("tokyo") { $0.currency = yen }
    samples.advertisers.append(payer)
    try samples.add(campaign: "tokyo", ad: "tokyo-1", impressionPrice: 150_000_000, clickPrice: 0)
    samples.campaigns[1].advertiser = payer.id
    for number in ads.dropFirst() { try samples.add(ad: "tokyo-\(number)", to: "tokyo") }
    return samples
  }

  private func winner(_ samples: Samples) throws -> String? {
    guard case .served(let serve) = samples.decide(try samples.request()).outcome else { return nil }
    return serve.terms.campaign.text
  }

  /// What each ad is worth that a snapshot may serve.
  private func values(_ snapshot: CatalogSnapshot) -> [AdID: Int128] {
    var values: [AdID: Int128] = [:]
    for level in [snapshot.base, snapshot.recent] {
      for (position, candidate) in level.index.candidates.enumerated()
      where level.liveness.standing(of: position, in: level.index) != .gone {
        let other = values.updateValue(candidate.expectedValue, forKey: candidate.ad.id)
        #expect(other == nil, "\(candidate.ad.id) is in force twice")
      }
    }
    return values
  }

  @Test("the order goes by what amounts are worth, not by their numbers; prices stay what they are")
  func order() throws {
    var samples = try network()
    #expect(try winner(samples) == "tokyo", "of which nothing is said counts as the network's own unit")
    samples.settings?.currencyRates = [yen: 6_700, dollar: 1_000_000]
    #expect(try winner(samples) == "summer")
    samples.settings?.currencyRates = [yen: 33_334, dollar: 1_000_000]
    #expect(try winner(samples) == "tokyo")
    guard case .served(let serve) = samples.decide(try samples.request()).outcome else {
      Issue.record("nothing was served")
      return
    }
    #expect(serve.terms.impressionPrice == Nanos(150_000_000) && serve.terms.currency == yen)
    #expect(serve.expectedValue == 150_000_000 * 33_334)
  }

  @Test("a worth is rounded down, and the highest price at the highest rate is far from overflow")
  func bounds() throws {
    var samples = try network()
    samples.clickRates = ClickRates(prior: ClickRateEstimate(priorClicks: 10, priorImpressions: 1_000))
    (samples.campaigns[0].impressionPrice, samples.campaigns[0].clickPrice) = (.zero, Nanos(1))
    // Beyond what the catalogue takes: what comes on the topic was checked by whoever wrote it.
    samples.campaigns[1].impressionPrice = Nanos(.max)
    samples.settings?.currencyRates = [dollar: 6_799, yen: CurrencyRate.range.upperBound]
    let worth = values(samples.snapshot())
    // 67.99: 10,000 millionths of a nano at 0.006799.
    #expect(worth[known(AdID("summer-1"))] == 67)
    #expect(worth[known(AdID("tokyo-1"))] == Int128(Int64.max) * 1_000_000_000_000)
  }

  @Test("another rate reaches every ad of its currency, in whichever index it lies", arguments: [4, 64])
  func following(recentMaximum: Int) throws {
    var samples = try network(ads: 1...9)
    var indexed = IndexedCatalog(clickRates: ClickRates(), recentMaximum: recentMaximum)
    var levels = CatalogSnapshot()
    func put(_ record: CatalogRecord, version: Int64) -> CatalogState.Change {
      indexed.apply(.message(.record(record, version: version)))
    }
    func follow() {
      levels.take(indexed.update(now: Samples.now))
      while let build = indexed.startBuild() { levels.take(indexed.finishBuild(build.run(), now: Samples.now)) }
    }
    for record in samples.records { _ = put(record, version: 1) }
    levels.take(indexed.rebuilt(now: Samples.now))
    // One of them is in the recent index.
    samples.ads[1].keywords = ["new"]
    _ = put(.ad(samples.ads[1]), version: 2)
    follow()
    #expect(levels.recent.index.candidates.count == 1)

    for (version, rate) in [(2, 6_700), (3, 33_334)] as [(Int64, Int64)] {
      samples.settings?.currencyRates = [yen: rate]
      _ = put(.settings(try #require(samples.settings)), version: version)
      follow()
      #expect(values(levels) == values(samples.snapshot()))
      #expect(values(levels)[known(AdID("tokyo-9"))] == 150_000_000 * Int128(rate))
    }
    // A rate that says what counts without it, and what has no part in an auction, concern no ad.
    samples.settings?.currencyRates[dollar] = CurrencyRate.whole
    samples.settings?.testFillBasisPoints = 1
    let change = put(.settings(try #require(samples.settings)), version: 4)
    #expect(change == .changed(CatalogRecords.Concern()))
  }

  @Test("an auction that is held again goes by the rates of its time")
  func replay() throws {
    var samples = try network()
    samples.settings?.currencyRates = [yen: 6_700]
    var replay = CatalogReplay(
      samples.records.map { .record($0, version: 1) }, change: 1, clickRates: ClickRates(), now: Samples.now)
    let before = values(replay.snapshot(at: Samples.now))
    #expect(before == values(samples.snapshot()))
    samples.settings?.currencyRates = [yen: 33_334]
    replay.take([.record(.settings(try #require(samples.settings)), version: 2)], upTo: 2)
    let after = values(replay.snapshot(at: Samples.now))
    #expect(after == values(samples.snapshot()) && after != before)
  }
}
