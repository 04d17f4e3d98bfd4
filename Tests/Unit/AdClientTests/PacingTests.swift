import AdBasics
import AdEvents
import Testing

@testable import AdClient

@Suite("What the network's answers set")
struct PacingTests {
  private static let pacing = AdPacing(
    refreshMilliseconds: 60_000, viewMilliseconds: 1_500, viewBasisPoints: 7_000, actionMilliseconds: 3_000,
    tapDelayMilliseconds: 100)

  private func banner(_ pacing: AdPacing?) throws -> (BannerStateMachine, AdContent) {
    var ad = try sampleAd(lifetimeMilliseconds: 900_000)
    ad.pacing = pacing
    let sizes = try BannerSizes(required: [], current: "", device: .phone)
    var banner = BannerStateMachine(sizes: sizes.resolved, firstAskAt: ms(0))
    #expect(banner.advance(to: ms(0)) == [.request(number: 1)])
    _ = banner.answered(.ad(ad), number: 1, at: ms(10))
    _ = banner.imagesFetched(true, number: 1, at: ms(20))
    return (banner, ad)
  }

  @Test("M1: an ad is seen by the fraction and time of its answer")
  func view() throws {
    var (banner, ad) = try banner(Self.pacing)
    _ = banner.visibleFractionChanged(to: 0.6, at: ms(100))
    #expect(banner.advance(to: ms(5_000)) == [], "0.6 is too little")
    _ = banner.visibleFractionChanged(to: 0.7, at: ms(6_000))
    #expect(banner.advance(to: ms(7_499)) == [])
    #expect(banner.advance(to: ms(7_500)) == [.report(.ad(.viewed, ad, 7_500))])
  }

  @Test("D2, D12: the next ad is asked for after the refresh of the answer, and a shorter display is brief")
  func refresh() throws {
    var (banner, _) = try banner(Self.pacing)
    _ = banner.visibleFractionChanged(to: 1, at: ms(100))
    let actions = banner.advance(to: ms(60_099))
    #expect(!actions.contains(.request(number: 2)))
    var hidden = banner
    #expect(hidden.visibleFractionChanged(to: 0, at: ms(45_000)).contains(.noteBriefDisplay(milliseconds: 44_900)))
    #expect(banner.advance(to: ms(60_100)).contains(.request(number: 2)))
  }

  @Test("M7: a click is told after the answer's time")
  func click() throws {
    var (banner, ad) = try banner(Self.pacing)
    _ = banner.visibleFractionChanged(to: 1, at: ms(100))
    _ = banner.tap(at: ms(5_000))
    _ = banner.beginAction(at: ms(5_000))
    let click = BannerAction.report(.ad(.click(actionMilliseconds: 3_000, leftApplication: false), ad, 5_000))
    #expect(!banner.advance(to: ms(7_999)).contains(click))
    #expect(banner.advance(to: ms(8_000)).contains(click))
  }

  @Test("An answer cannot make a client ask without pause, or call seen what nobody sees; without figures its own hold")
  func bounds() {
    let own = AdTiming()
    #expect(own.following(nil) == own)
    let none = own.following(
      AdPacing(
        refreshMilliseconds: 0, viewMilliseconds: 0, viewBasisPoints: 0, actionMilliseconds: -5, tapDelayMilliseconds: 0
      ))
    #expect(none.refreshMilliseconds == 5_000 && none.viewableMilliseconds == 100)
    #expect(none.viewableFraction == 0.01 && none.clickCompleteMilliseconds == 0)
    let all = own.following(
      AdPacing(
        refreshMilliseconds: .max, viewMilliseconds: .max, viewBasisPoints: .max, actionMilliseconds: .max,
        tapDelayMilliseconds: .max))
    #expect(all.refreshMilliseconds == 3_600_000 && all.viewableMilliseconds == 60_000)
    #expect(all.viewableFraction == 1 && all.clickCompleteMilliseconds == 60_000)
  }

  @Test("An answer's figures reach the ad")
  func answer() throws {
    let served = ServedAd(
      ad: try #require(AdID("an-ad")), token: [1], images: [],
      action: AdAction(kind: .leave, destination: "https://a.example"),
      lifetimeMilliseconds: 1, isTest: false, serveID: sampleServeID, pacing: Self.pacing)
    let bytes = AdResponse(requestID: sampleRequestID, outcome: .ad(served)).encoded()
    let response = try bytes.withUnsafeBytes { try AdResponse.read($0, headers: RecordHeaders()) }
    guard case .ad(let ad) = RequestResult(response, at: ms(0)) else {
      Issue.record("no ad")
      return
    }
    #expect(ad.pacing == Self.pacing)
  }
}
