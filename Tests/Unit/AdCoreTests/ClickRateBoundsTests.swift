import AdCore
import TestValues
import Testing

@Suite("B4: what is set aside for clicks")
struct ClickRateBoundsTests {
  private let ad: AdID
  private let other: AdID

  init() throws {
    ad = try #require(AdID("summer-1"))
    other = try #require(AdID("summer-2"))
  }

  @Test("a click's price times its ad's bound, rounded up, and never more than the price")
  func reserve() {
    let bounds = ClickRateBounds(others: 43_590, ads: [ad: 240_001])
    #expect(bounds.reserve(for: ad, clickPrice: Nanos(100)) == Nanos(25))
    #expect(bounds.reserve(for: other, clickPrice: Nanos(100)) == Nanos(5))
    #expect(bounds.reserve(for: ad, clickPrice: .zero) == .zero)
    #expect(bounds.reserve(for: ad, clickPrice: Nanos(-5)) == .zero)
    #expect(ClickRateBounds.full.reserve(for: ad, clickPrice: Nanos(.max)) == Nanos(.max))
    #expect(ClickRateBounds(others: 2_000_000, ads: [ad: -1]) == ClickRateBounds(others: 1_000_000, ads: [ad: 0]))
  }

  @Test("bounds come back from their text the same, and what is no such text is refused")
  func text() throws {
    let bounds = ClickRateBounds(others: 43_590, ads: [other: 7, ad: 120_000])
    #expect(bounds.text == "43590,summer-1=120000,summer-2=7")
    #expect(ClickRateBounds(text: bounds.text) == bounds)
    #expect(ClickRateBounds(text: "1000000") == .full)
    for text in ["", "x", "-1", "1000001", "5,", "5,summer-1", "5,summer-1=", "5,summer 1=3", "5,summer-1=1000001"] {
      #expect(ClickRateBounds(text: text) == nil, "\(text)")
    }
    var ads: [AdID: Int64] = [:]
    for number in 100..<150 { ads[try #require(AdID("ad-\(number)"))] = 1 }
    let most = ClickRateBounds(others: 0, ads: ads)
    #expect(most.ads.count == ClickRateBounds.adsMaximum)
    #expect(ClickRateBounds(text: most.text + ",ad-200=1") == nil)
  }

  @Test("an ad's own bound where it was seen often enough, else its campaign's, else its network's, else the prior's")
  func experience() {
    let prior = ClickCount(clicks: 2, impressions: 200)
    let unknown = ClickRateEstimate().upperPartsPerMillion
    #expect(ClickCounts().bounds(prior: prior) == ClickRateBounds(others: unknown))
    let rarely = ClickCount(clicks: 199, impressions: 199)
    #expect(ClickCounts(network: rarely, campaign: rarely, ads: [ad: rarely]).bounds(prior: prior).others == unknown)
    // The golden case's click rate is 11.80 %.
    let network = ClickCount(clicks: 1_097, impressions: 9_300)
    let known = ClickCounts(network: network, campaign: rarely).bounds(prior: prior)
    #expect((118_000...127_000).contains(known.others))
    let often = ClickCounts(
      network: network, campaign: ClickCount(clicks: 300, impressions: 10_000),
      ads: [ad: ClickCount(clicks: 48, impressions: 200), other: rarely])
    let bounds = often.bounds(prior: prior)
    #expect((30_000...35_000).contains(bounds.others))
    // 24 % of 200: 17.8 to 31.7 % with 98 % confidence, by Wilson's formula.
    #expect(bounds.ads.keys.map(\.text) == [ad.text])
    #expect((310_000...325_000).contains(bounds.ads[ad] ?? 0), "\(bounds)")
  }
}
