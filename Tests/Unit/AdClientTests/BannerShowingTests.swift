import AdBasics
import Testing

@testable import AdClient

@Suite("Banner: showing, taps and actions")
struct BannerShowingTests {
  @Test("M1: half the pixels for one second without a break are one impression")
  func impression() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad)
    #expect(banner.visibleFractionChanged(to: 0.49, at: ms(200)) == [.report(.ad(.rendered, ad, 200))])
    #expect(banner.advance(to: ms(5_000)) == [])
    #expect(banner.visibleFractionChanged(to: 0.5, at: ms(5_000)) == [])
    #expect(banner.visibleFractionChanged(to: 0.4, at: ms(5_999)) == [], "the second was broken")
    #expect(banner.visibleFractionChanged(to: 0.5, at: ms(6_000)) == [])
    #expect(banner.advance(to: ms(6_999)) == [])
    #expect(banner.advance(to: ms(7_000)) == [.report(.ad(.viewed, ad, 7_000))])
    _ = banner.visibleFractionChanged(to: 0, userNavigated: true, at: ms(8_000))
    _ = banner.visibleFractionChanged(to: 1, at: ms(9_000))
    #expect(banner.advance(to: ms(20_000)) == [], "M4: one ad, one impression")
  }

  @Test("M1: a late host still gets the impression that the time completed, at its moment")
  func lateHost() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    #expect(
      banner.visibleFractionChanged(to: 0, userNavigated: true, at: ms(1_500)) == [.report(.ad(.viewed, ad, 1_200))])
  }

  @Test("M1: a fraction that is no number shows nothing", arguments: [Double.nan, -1, -Double.greatestFiniteMagnitude])
  func strangeFraction(fraction: Double) throws {
    var banner = try loadedBanner(try sampleAd())
    #expect(banner.visibleFractionChanged(to: fraction, at: ms(200)) == [])
  }

  @Test("M1: the background breaks the second")
  func backgroundBreaks() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    #expect(banner.enteredBackground(at: ms(900)) == [])
    #expect(banner.enteredForeground(at: ms(5_000)) == [])
    #expect(banner.advance(to: ms(6_000)) == [.report(.ad(.viewed, ad, 6_000))])
  }

  @Test("D12: hiding a banner within 30 s is noted, unless the user went to another screen")
  func briefDisplay() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    #expect(banner.visibleFractionChanged(to: 0, at: ms(700)) == [.noteBriefDisplay(milliseconds: 500)])
    _ = banner.visibleFractionChanged(to: 1, at: ms(1_000))
    #expect(banner.visibleFractionChanged(to: 0, userNavigated: true, at: ms(1_100)) == [])
    var patient = try loadedBanner(ad, shownAt: 200)
    #expect(
      !patient.visibleFractionChanged(to: 0, at: ms(30_200)).contains { action in
        if case .noteBriefDisplay = action { true } else { false }
      })
  }

  @Test("D7: a tap asks the app; yes covers it (D11) and is a click once the action has lasted 2 s (M7)")
  func coveringAction() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    _ = banner.advance(to: ms(1_200))
    #expect(banner.tap(at: ms(2_000)) == [.askShouldBegin(willLeaveApplication: false)])
    #expect(banner.isActionInProgress)
    #expect(
      banner.decide(shouldBegin: true, at: ms(2_050)) == [
        .fetchCover(destination: ad.action.destination, number: 1)
      ])
    #expect(
      banner.coverFetched(true, number: 1, at: ms(2_100)) == [.cover(destination: ad.action.destination)])
    #expect(banner.tap(at: ms(2_200)) == [], "a tap while an action runs does nothing")
    #expect(banner.nextWake == ms(4_100))
    #expect(
      banner.advance(to: ms(4_150)) == [
        .report(.ad(.click(actionMilliseconds: 2_000, leftApplication: false), ad, 2_000))
      ])
    #expect(banner.actionFinished(at: ms(9_000)) == [.uncover, .tell(.actionDidFinish)])
    #expect(!banner.isActionInProgress)
    #expect(banner.actionFinished(at: ms(9_100)) == [], "an action ends once")
  }

  @Test("M7: an action that ends sooner tells its click at its end, with how long it lasted")
  func shortAction() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    _ = banner.tap(at: ms(500))
    _ = banner.beginAction(at: ms(500))
    #expect(
      banner.actionFinished(at: ms(1_700)) == [
        .uncover, .tell(.actionDidFinish),
        .report(.ad(.click(actionMilliseconds: 1_200, leftApplication: false), ad, 500)),
      ])
  }

  @Test("D8, M7: an action that leaves the application is a click at once, and no finish is told")
  func leavingAction() throws {
    let ad = try sampleAd(kind: .leave)
    var banner = try loadedBanner(ad, shownAt: 200)
    #expect(banner.tap(at: ms(500)) == [.askShouldBegin(willLeaveApplication: true)])
    #expect(
      banner.decide(shouldBegin: true, at: ms(510)) == [
        .leaveApplication(destination: ad.action.destination),
        .report(.ad(.click(actionMilliseconds: 0, leftApplication: true), ad, 500)),
      ])
    #expect(!banner.isActionInProgress)
    #expect(banner.enteredBackground(at: ms(520)) == [])
  }

  @Test("D7: no blocks the action: no click, and it is told (A7)")
  func blocked() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    _ = banner.tap(at: ms(500))
    #expect(banner.decide(shouldBegin: false, at: ms(520)) == [.report(.ad(.blocked, ad, 500))])
    #expect(!banner.isActionInProgress)
    #expect(banner.decide(shouldBegin: true, at: ms(530)) == [], "a decision without a question is nothing")
  }

  @Test("D8: going to the background during a covering action uncovers and finishes it first")
  func backgroundDuringAction() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    _ = banner.tap(at: ms(500))
    _ = banner.beginAction(at: ms(500))
    #expect(
      banner.enteredBackground(at: ms(1_000)) == [
        .uncover, .tell(.actionDidFinish),
        .report(.ad(.click(actionMilliseconds: 500, leftApplication: false), ad, 500)),
      ])
  }

  @Test("D8, M7: a covering ad that leads to another application within 2 s left it")
  func leavesFromAction() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    _ = banner.tap(at: ms(500))
    _ = banner.beginAction(at: ms(500))
    #expect(
      banner.actionLeftApplication(at: ms(1_000)) == [
        .uncover, .tell(.actionDidFinish),
        .report(.ad(.click(actionMilliseconds: 500, leftApplication: true), ad, 500)),
      ])
  }

  @Test("D9: cancelling a banner's action ends it with its finish, and is told (A7)")
  func cancelled() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    #expect(banner.cancelAction(at: ms(400)) == [], "nothing runs")
    _ = banner.tap(at: ms(500))
    _ = banner.beginAction(at: ms(500))
    #expect(
      banner.cancelAction(at: ms(1_000)) == [
        .uncover, .tell(.actionDidFinish),
        .report(.ad(.click(actionMilliseconds: 500, leftApplication: false), ad, 500)),
        .report(.ad(.cancelled(actionMilliseconds: 500), ad, 500)),
      ])
  }

  @Test("D2: no ad is asked for while an action runs; the cycle goes on after it")
  func noRefreshDuringAction() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    _ = banner.tap(at: ms(2_000))
    _ = banner.beginAction(at: ms(2_000))
    _ = banner.advance(to: ms(4_000))
    #expect(banner.advance(to: ms(100_000)) == [])
    #expect(banner.actionFinished(at: ms(100_000)) == [.uncover, .tell(.actionDidFinish), .request(number: 2)])
  }

  @Test("D10: a banner stopped during an action tells its finish before it ends")
  func stopDuringAction() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    _ = banner.tap(at: ms(2_000))
    _ = banner.beginAction(at: ms(2_000))
    _ = banner.advance(to: ms(4_000))
    #expect(banner.stop(at: ms(5_000)) == [])
    #expect(!banner.isEnded)
    #expect(
      banner.actionFinished(at: ms(6_000)) == [
        .uncover, .tell(.actionDidFinish), .report(.ad(.unloaded, ad, 6_000)), .clear,
      ])
    #expect(banner.isEnded)
  }

  @Test("D11, E8, M7: what covers and cannot be had ends the action and the ad; its click is an accidental one")
  func coverMissing() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    _ = banner.tap(at: ms(500))
    _ = banner.decide(shouldBegin: true, at: ms(500))
    #expect(banner.isActionInProgress)
    #expect(banner.coverFetched(false, number: 2, at: ms(700)) == [], "that is another action's")
    #expect(
      banner.coverFetched(false, number: 1, at: ms(800)) == [
        .report(.ad(.click(actionMilliseconds: 0, leftApplication: false), ad, 500)), .tell(.actionDidFinish),
        .report(.ad(.failed(.assetLoadFailure), ad, 800)), .report(.ad(.unloaded, ad, 800)), .clear,
        .tell(.didFail(AdFailure(.assetLoadFailure, retryAfterMilliseconds: 30_000))),
      ])
    #expect(!banner.isActionInProgress && !banner.isLoaded)
  }

  @Test("D11, E10: what covers and does not come in time is given up")
  func coverPending() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    _ = banner.advance(to: ms(1_200))
    _ = banner.tap(at: ms(2_000))
    _ = banner.decide(shouldBegin: true, at: ms(2_000))
    #expect(banner.advance(to: ms(11_999)) == [])
    let actions = banner.advance(to: ms(12_000))
    #expect(actions.contains(.tell(.actionDidFinish)))
    #expect(actions.contains(.report(.ad(.failed(.adAssetLoadPending), ad, 12_000))))
    #expect(banner.coverFetched(true, number: 1, at: ms(12_100)) == [], "it came too late")
  }

  @Test("D9: an action can be cancelled before anything covers the app: nothing is uncovered, and the finish is told")
  func cancelledBeforeCover() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    _ = banner.tap(at: ms(500))
    _ = banner.decide(shouldBegin: true, at: ms(500))
    #expect(
      banner.cancelAction(at: ms(600)) == [
        .report(.ad(.click(actionMilliseconds: 0, leftApplication: false), ad, 500)), .tell(.actionDidFinish),
        .report(.ad(.cancelled(actionMilliseconds: 0), ad, 500)),
      ])
  }

  @Test("T4, D10: low memory gives up an ad that nobody sees, and none that is seen or acts")
  func memory() throws {
    let ad = try sampleAd()
    var hidden = try loadedBanner(ad)
    #expect(
      hidden.memoryWarning(at: ms(300)) == [
        .report(.ad(.unloaded, ad, 300)), .clear,
        .tell(.didFail(AdFailure(.adUnloaded, retryAfterMilliseconds: 30_000))),
      ])
    var seen = try loadedBanner(ad, shownAt: 200)
    #expect(seen.memoryWarning(at: ms(300)) == [])
    _ = seen.tap(at: ms(400))
    _ = seen.beginAction(at: ms(400))
    #expect(seen.memoryWarning(at: ms(500)) == [])
    #expect(seen.isLoaded && seen.isActionInProgress)
  }

  @Test("D7: an ad that is hidden, or not there, cannot be tapped")
  func hiddenTap() throws {
    var hidden = try loadedBanner(try sampleAd())
    #expect(hidden.tap(at: ms(300)) == [])
    var empty = askedBanner()
    _ = empty.visibleFractionChanged(to: 1, at: ms(10))
    #expect(empty.tap(at: ms(20)) == [])
  }
}
