import AdBasics
import Testing

@testable import AdClient

let bannerSizes = BannerSizes.Resolved(
  required: [.phoneBannerPortrait, .phoneBannerLandscape], current: .phoneBannerPortrait)

/// A banner made at 0 that asked its first request.
func askedBanner() -> BannerStateMachine {
  var banner = BannerStateMachine(sizes: bannerSizes, firstAskAt: ms(0))
  #expect(banner.advance(to: ms(0)) == [.request(number: 1)])
  return banner
}

/// A banner with an ad, loaded at 100 and shown at `shownAt` if that is given.
func loadedBanner(_ ad: AdContent, shownAt: Int64? = nil) throws -> BannerStateMachine {
  var banner = askedBanner()
  _ = banner.answered(.ad(ad), number: 1, at: ms(100))
  _ = banner.imagesFetched(true, number: 1, at: ms(100))
  if let shownAt {
    let actions = banner.visibleFractionChanged(to: 1, at: ms(shownAt))
    #expect(actions == [.report(.ad(.rendered, ad, shownAt))])
  }
  return banner
}

@Suite("Banner: asking and loading")
struct BannerLoadingTests {
  @Test("D1: request, willLoad, didLoad, though the banner is in no view hierarchy")
  func loads() throws {
    var banner = askedBanner()
    let ad = try sampleAd()
    #expect(
      banner.answered(.ad(ad), number: 1, at: ms(50)) == [.tell(.willLoad), .fetchImages(ad, number: 1)])
    #expect(!banner.isLoaded)
    #expect(
      banner.imagesFetched(true, number: 1, at: ms(80)) == [
        .show(ad, size: .phoneBannerPortrait), .tell(.didLoad),
      ])
    #expect(banner.isLoaded)
  }

  @Test("D1: an error of the network is told as didFail, without willLoad, and not told back to the network")
  func networkError() throws {
    var banner = askedBanner()
    #expect(
      banner.answered(.error(.inventoryUnavailable), number: 1, at: ms(50)) == [
        .tell(.didFail(AdFailure(.inventoryUnavailable, retryAfterMilliseconds: 30_000)))
      ])
  }

  @Test("M6: no answer is error 1, told to the network by the request's number")
  func noAnswer() throws {
    var banner = askedBanner()
    #expect(
      banner.answered(.noAnswer, number: 1, at: ms(50)) == [
        .report(.request(.failed(.serverFailure), 1, 50)),
        .tell(.didFail(AdFailure(.serverFailure, retryAfterMilliseconds: 30_000))),
      ])
  }

  @Test("D1: images that do not come are error 8 after willLoad")
  func imagesFail() throws {
    var banner = askedBanner()
    let ad = try sampleAd()
    _ = banner.answered(.ad(ad), number: 1, at: ms(50))
    #expect(
      banner.imagesFetched(false, number: 1, at: ms(70)) == [
        .report(.ad(.failed(.assetLoadFailure), ad, 70)), .report(.ad(.unloaded, ad, 70)),
        .tell(.didFail(AdFailure(.assetLoadFailure, retryAfterMilliseconds: 30_000))),
      ])
  }

  @Test(
    "E9: an ad without a token, without a required size's image (S4), past its life, or unreadable is error 9",
    arguments: 0..<4)
  func invalidAnswer(variant: Int) throws {
    var banner = askedBanner()
    let whole = try sampleAd()
    let result: RequestResult
    switch variant {
    case 0:
      result = .ad(
        AdContent(
          ad: whole.ad, images: whole.images, action: whole.action, lifetimeMilliseconds: 900_000, isTest: true,
          serveID: whole.serveID, requestID: whole.requestID, token: [], answeredAt: ms(0)))
    case 1: result = .ad(try sampleAd(sizes: [.phoneBannerPortrait]))
    case 2: result = .ad(try sampleAd(lifetimeMilliseconds: 50))
    default: result = .invalid
    }
    #expect(
      banner.answered(result, number: 1, at: ms(50)) == [
        .report(.request(.failed(.adResponseValidateFailure), 1, 50)),
        .tell(.didFail(AdFailure(.adResponseValidateFailure, retryAfterMilliseconds: 30_000))),
      ])
  }

  @Test("D2: a visible banner asks for the next ad 30 s after the last was shown, and swaps it")
  func refreshes() throws {
    let first = try sampleAd(1)
    let second = try sampleAd(2, answeredAt: 30_200)
    var banner = try loadedBanner(first, shownAt: 200)
    #expect(banner.advance(to: ms(30_199)) == [.report(.ad(.viewed, first, 1_200))])
    #expect(banner.advance(to: ms(30_200)) == [.request(number: 2)])
    _ = banner.answered(.ad(second), number: 2, at: ms(30_250))
    #expect(
      banner.imagesFetched(true, number: 2, at: ms(30_260)) == [
        .report(.ad(.unloaded, first, 30_260)), .show(second, size: .phoneBannerPortrait), .tell(.didLoad),
        .report(.ad(.rendered, second, 30_260)),
      ])
  }

  @Test("D2: after errors it asks again after 30 s, doubling to 5 min, hidden as well")
  func backsOff() throws {
    var banner = askedBanner()
    var now: Int64 = 0
    for (index, wait) in [30_000, 60_000, 120_000, 240_000, 300_000, 300_000].enumerated()
      as EnumeratedSequence<[Int64]>
    {
      _ = banner.answered(.error(.inventoryUnavailable), number: index + 1, at: ms(now))
      #expect(banner.nextWake == ms(now + wait))
      #expect(banner.advance(to: ms(now + wait - 1)) == [])
      now += wait
      #expect(banner.advance(to: ms(now)) == [.request(number: index + 2)])
    }
    let ad = try sampleAd(answeredAt: now)
    _ = banner.answered(.ad(ad), number: 7, at: ms(now))
    _ = banner.imagesFetched(true, number: 7, at: ms(now))
    _ = banner.visibleFractionChanged(to: 1, at: ms(now))
    now += 30_000
    #expect(banner.advance(to: ms(now)).last == .request(number: 8))
    _ = banner.answered(.noAnswer, number: 8, at: ms(now))
    _ = banner.visibleFractionChanged(to: 0, at: ms(now))
    #expect(banner.nextWake == ms(now + 30_000), "a loaded ad starts the doubling anew")
  }

  @Test("D3: an ad that is never shown is not replaced; at the end of its life it is unloaded as error 7")
  func neverShown() throws {
    let ad = try sampleAd(lifetimeMilliseconds: 600_000)
    var banner = try loadedBanner(ad)
    #expect(banner.nextWake == ms(600_100))
    #expect(
      banner.advance(to: ms(600_100)) == [
        .report(.ad(.unloaded, ad, 600_100)), .clear,
        .tell(.didFail(AdFailure(.adUnloaded, retryAfterMilliseconds: 30_000))),
      ])
    #expect(banner.nextWake == ms(630_100))
  }

  @Test("D3: one taken off screen stops asking until it is put back")
  func putAway() throws {
    var banner = askedBanner()
    _ = banner.answered(.error(.inventoryUnavailable), number: 1, at: ms(0))
    #expect(banner.putAway(at: ms(10)) == [])
    #expect(banner.nextWake == nil)
    #expect(banner.advance(to: ms(90_000)) == [])
    #expect(banner.putBack(at: ms(90_000)) == [.request(number: 2)])
  }

  @Test("D1, D3: an answer that comes after the banner was put away still loads it")
  func loadsWhileAway() throws {
    var banner = askedBanner()
    _ = banner.putAway(at: ms(10))
    let ad = try sampleAd()
    _ = banner.answered(.ad(ad), number: 1, at: ms(20))
    #expect(banner.imagesFetched(true, number: 1, at: ms(30)).last == .tell(.didLoad))
  }

  @Test("E8: images that do not come in time are given up, and the banner asks again; what comes later changes nothing")
  func imagesAreLate() throws {
    var banner = askedBanner()
    let ad = try sampleAd()
    _ = banner.answered(.ad(ad), number: 1, at: ms(50))
    #expect(banner.nextWake == ms(60_050))
    #expect(banner.advance(to: ms(60_049)) == [])
    #expect(
      banner.advance(to: ms(60_050)) == [
        .report(.ad(.failed(.assetLoadFailure), ad, 60_050)), .report(.ad(.unloaded, ad, 60_050)),
        .tell(.didFail(AdFailure(.assetLoadFailure, retryAfterMilliseconds: 30_000))),
      ])
    #expect(banner.imagesFetched(true, number: 1, at: ms(60_100)) == [])
    #expect(banner.nextWake == ms(90_050))
  }

  @Test("E9: an ad whose life ended while its images were fetched is not shown")
  func expiresOnItsWay() throws {
    var banner = askedBanner()
    let ad = try sampleAd(lifetimeMilliseconds: 5_000)
    _ = banner.answered(.ad(ad), number: 1, at: ms(50))
    #expect(
      banner.imagesFetched(true, number: 1, at: ms(5_000)) == [
        .report(.ad(.failed(.adResponseValidateFailure), ad, 5_000)), .report(.ad(.unloaded, ad, 5_000)),
        .tell(.didFail(AdFailure(.adResponseValidateFailure, retryAfterMilliseconds: 30_000))),
      ])
  }

  @Test("D4: visible without content is told to the app until the banner is hidden, to the network once a request")
  func visibleWithoutContent() throws {
    var banner = askedBanner()
    #expect(banner.visibleFractionChanged(to: 1, at: ms(0)) == [], "not before the app was told to hide it")
    _ = banner.answered(.error(.inventoryUnavailable), number: 1, at: ms(100))
    let warning = BannerAction.tell(.didFail(AdFailure(.bannerVisibleWithoutContent)))
    #expect(
      banner.advance(to: ms(10_100)) == [
        warning, .report(.request(.failed(.bannerVisibleWithoutContent), 1, 10_100)),
      ])
    #expect(banner.advance(to: ms(20_100)) == [warning])
    #expect(banner.visibleFractionChanged(to: 0, at: ms(20_200)) == [])
    #expect(banner.nextWake == ms(30_100), "only the next request is left")
    #expect(banner.advance(to: ms(30_100)) == [.request(number: 2)])
    _ = banner.answered(.error(.inventoryUnavailable), number: 2, at: ms(30_200))
    _ = banner.visibleFractionChanged(to: 1, at: ms(30_200))
    #expect(
      banner.advance(to: ms(40_200)) == [
        warning, .report(.request(.failed(.bannerVisibleWithoutContent), 2, 40_200)),
      ])
  }

  @Test("D4: an ad ends the warnings")
  func contentEndsWarnings() throws {
    var banner = askedBanner()
    _ = banner.visibleFractionChanged(to: 1, at: ms(0))
    _ = banner.answered(.error(.inventoryUnavailable), number: 1, at: ms(0))
    _ = banner.advance(to: ms(30_000))
    let ad = try sampleAd(answeredAt: 30_000)
    _ = banner.answered(.ad(ad), number: 2, at: ms(30_000))
    _ = banner.imagesFetched(true, number: 2, at: ms(30_000))
    #expect(banner.advance(to: ms(59_999)) == [.report(.ad(.viewed, ad, 31_000))])
  }

  @Test("E6: going to the background while an ad is on its way is error 6; the cycle goes on in the foreground")
  func background() throws {
    var banner = askedBanner()
    #expect(
      banner.enteredBackground(at: ms(10)) == [
        .report(.request(.failed(.applicationInactive), 1, 10)),
        .tell(.didFail(AdFailure(.applicationInactive, retryAfterMilliseconds: 30_000))),
      ])
    #expect(banner.nextWake == nil)
    let late = try sampleAd()
    #expect(banner.answered(.ad(late), number: 1, at: ms(20)) == [.report(.ad(.unloaded, late, 20))])
    #expect(banner.enteredForeground(at: ms(50_000)) == [.request(number: 2)])
  }

  @Test("S4: turning swaps the same ad's image: no request, no impression")
  func turns() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    let turned = BannerSizes.Resolved(required: bannerSizes.required, current: .phoneBannerLandscape)
    #expect(banner.sizesChanged(to: turned, at: ms(300)) == [.show(ad, size: .phoneBannerLandscape)])
    #expect(banner.sizesChanged(to: turned, at: ms(310)) == [], "it is turned already")
    #expect(banner.advance(to: ms(1_200)) == [.report(.ad(.viewed, ad, 1_200))], "one second from the first showing")
    #expect(banner.currentSize == .phoneBannerLandscape)
  }

  @Test("S4: sizes required later keep an ad that has them all, and give up one that has not (E7)")
  func requiredLater() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    let fewer = BannerSizes.Resolved(required: [.phoneBannerLandscape], current: .phoneBannerLandscape)
    #expect(banner.sizesChanged(to: fewer, at: ms(300)) == [.show(ad, size: .phoneBannerLandscape)])
    let other = BannerSizes.Resolved(required: [.mediumRectangle], current: .mediumRectangle)
    #expect(
      banner.sizesChanged(to: other, at: ms(400)) == [
        .report(.ad(.unloaded, ad, 400)), .clear,
        .tell(.didFail(AdFailure(.adUnloaded, retryAfterMilliseconds: 30_000))),
      ])
    #expect(banner.nextWake == ms(10_400), "D4: it is on screen, and empty")
  }

  @Test("S4: an answer to a request for other sizes is told as unloaded, and another is asked for")
  func requiredWhileAsked() throws {
    let ad = try sampleAd()
    var banner = askedBanner()
    let other = BannerSizes.Resolved(required: [.mediumRectangle], current: .mediumRectangle)
    #expect(banner.sizesChanged(to: other, at: ms(10)) == [])
    #expect(banner.answered(.ad(ad), number: 1, at: ms(20)) == [.report(.ad(.unloaded, ad, 20))])
    #expect(banner.advance(to: ms(30_000)) == [.request(number: 2)])
  }

  @Test("D2: a banner of an app that starts again asks when the network's 30 s are over, not sooner")
  func startsAgain() {
    var banner = BannerStateMachine(sizes: bannerSizes, firstAskAt: ms(12_000))
    #expect(banner.advance(to: ms(11_999)) == [])
    #expect(banner.advance(to: ms(12_000)) == [.request(number: 1)])
  }

  @Test("E2: what somebody on the way has no time for is told, and asked again after the pause that he names")
  func unavailable() {
    var banner = askedBanner()
    let busy = RequestResult.unavailable(.serverFailure, detail: "draining", retryAfterMilliseconds: 90_000)
    #expect(
      banner.answered(busy, number: 1, at: ms(50)) == [
        .report(.request(.failed(.serverFailure), 1, 50)),
        .tell(.didFail(AdFailure(.serverFailure, detail: "draining", retryAfterMilliseconds: 90_000))),
      ])
    #expect(banner.nextWake == ms(90_050))
  }

  @Test("D10: a stopped banner unloads its ad and tells nothing more")
  func stops() throws {
    let ad = try sampleAd()
    var banner = try loadedBanner(ad, shownAt: 200)
    #expect(banner.stop(at: ms(400)) == [.report(.ad(.unloaded, ad, 400)), .clear])
    #expect(banner.isEnded)
    #expect(banner.nextWake == nil)
    #expect(banner.visibleFractionChanged(to: 1, at: ms(500)) == [])
    #expect(banner.enteredForeground(at: ms(600)) == [])
    #expect(banner.tap(at: ms(700)) == [])
  }
}
