import AdBasics
import Testing

@testable import AdClient

let interstitialSizes: [AdSize] = [.padInterstitialPortrait, .padInterstitialLandscape]

func interstitialAd(kind: AdAction.Kind = .cover, lifetimeMilliseconds: Int64 = 300_000) throws -> AdContent {
  try sampleAd(kind: kind, lifetimeMilliseconds: lifetimeMilliseconds, sizes: interstitialSizes)
}

/// An interstitial whose ad has loaded at 100.
func loadedInterstitial(_ ad: AdContent) -> InterstitialStateMachine {
  var machine = InterstitialStateMachine(requiredSizes: interstitialSizes)
  #expect(machine.start(device: .pad, isAnotherLoading: false, at: ms(0)) == [.request])
  #expect(machine.answered(.ad(ad), at: ms(50)) == [.tell(.willLoad), .fetchImages(ad)])
  #expect(machine.imagesFetched(true, at: ms(100)) == [.tell(.didLoad)])
  return machine
}

func modalInterstitial(_ ad: AdContent) -> InterstitialStateMachine {
  var machine = loadedInterstitial(ad)
  let presentation = machine.presentModally(isWithinDidLoad: false, at: ms(1_000))
  #expect(presentation == ([.presentModally(ad), .report(.ad(.rendered, ad, 1_000))], nil))
  return machine
}

func pageInterstitial(_ ad: AdContent) -> InterstitialStateMachine {
  var machine = loadedInterstitial(ad)
  #expect(
    machine.presentAsPage(width: 1_024, height: 700, orientation: .landscape, at: ms(1_000)) == (
      [.presentAsPage(ad)], nil
    ))
  return machine
}

/// Tuples are not Equatable by themselves.
func == (left: InterstitialStateMachine.Presentation, right: InterstitialStateMachine.Presentation) -> Bool {
  left.actions == right.actions && left.error == right.error
}

@Suite("Interstitial: loading, presenting, expiring")
struct InterstitialTests {
  @Test("S5: on a phone it fails with configurationError and asks nothing")
  func phone() {
    var machine = InterstitialStateMachine(requiredSizes: interstitialSizes)
    #expect(
      machine.start(device: .phone, isAnotherLoading: false, at: ms(0)) == [
        .tell(.didFail(AdFailure(.configurationError, detail: "S5: a full-screen ad is for pads only")))
      ])
    #expect(machine.isFinished)
  }

  @Test("D5: while another loads for the same place it fails with loadingThrottled")
  func placeTaken() {
    var machine = InterstitialStateMachine(requiredSizes: interstitialSizes)
    #expect(
      machine.start(device: .pad, isAnotherLoading: true, at: ms(0)) == [
        .tell(.didFail(AdFailure(.loadingThrottled, detail: "D5: another ad loads for this place")))
      ])
  }

  @Test("D5: it loads once")
  func loadsOnce() throws {
    var machine = loadedInterstitial(try interstitialAd())
    #expect(machine.start(device: .pad, isAnotherLoading: false, at: ms(200)) == [])
    let other = try interstitialAd()
    #expect(machine.answered(.ad(other), at: ms(200)) == [.report(.ad(.unloaded, other, 200))])
    #expect(machine.nextWake == ms(300_100), "nothing but the end of its life")
  }

  @Test("D5: a life that no network's setting would name is error 9", arguments: [59_999, 3_600_001] as [Int64])
  func lifetimeBounds(lifetime: Int64) throws {
    var machine = InterstitialStateMachine(requiredSizes: interstitialSizes)
    _ = machine.start(device: .pad, isAnotherLoading: false, at: ms(0))
    #expect(
      machine.answered(.ad(try interstitialAd(lifetimeMilliseconds: lifetime)), at: ms(50)) == [
        .tell(.didFail(AdFailure(.adResponseValidateFailure))),
        .report(.request(.failed(.adResponseValidateFailure), 1, 50)),
      ])
    #expect(machine.isFinished)
  }

  @Test("D1: an error before loading is didFail alone: there is nothing to unload")
  func loadError() throws {
    for (result, reported) in [(RequestResult.error(.inventoryUnavailable), false), (.noAnswer, true)] {
      var machine = InterstitialStateMachine(requiredSizes: interstitialSizes)
      _ = machine.start(device: .pad, isAnotherLoading: false, at: ms(0))
      let error: AdError = reported ? .serverFailure : .inventoryUnavailable
      #expect(
        machine.answered(result, at: ms(50))
          == [.tell(.didFail(AdFailure(error)))] + (reported ? [.report(.request(.failed(error), 1, 50))] : []))
      #expect(machine.isFinished)
    }
  }

  @Test("D1: images that do not come are error 8")
  func imagesFail() throws {
    let ad = try interstitialAd()
    var machine = InterstitialStateMachine(requiredSizes: interstitialSizes)
    _ = machine.start(device: .pad, isAnotherLoading: false, at: ms(0))
    _ = machine.answered(.ad(ad), at: ms(50))
    #expect(
      machine.imagesFetched(false, at: ms(60)) == [
        .tell(.didFail(AdFailure(.assetLoadFailure))), .report(.ad(.failed(.assetLoadFailure), ad, 60)),
        .report(.ad(.unloaded, ad, 60)),
      ])
  }

  @Test("D6: presenting before it is loaded, or twice, or modally from within didLoad, is an error")
  func presentingErrors() throws {
    var unloaded = InterstitialStateMachine(requiredSizes: interstitialSizes)
    #expect(unloaded.presentModally(isWithinDidLoad: false, at: ms(0)) == ([], .notLoaded))
    #expect(unloaded.presentAsPage(width: 768, height: 1_024, orientation: .portrait, at: ms(0)) == ([], .notLoaded))
    var loaded = loadedInterstitial(try interstitialAd())
    #expect(loaded.presentModally(isWithinDidLoad: true, at: ms(100)) == ([], .withinDidLoad))
    #expect(loaded.isLoaded)
    var modal = modalInterstitial(try interstitialAd())
    #expect(modal.presentModally(isWithinDidLoad: false, at: ms(1_100)) == ([], .alreadyPresented))
  }

  @Test("S6: a page's view has the screen's width and at most 113 points less than its height")
  func pageSize() throws {
    var machine = loadedInterstitial(try interstitialAd())
    #expect(
      machine.presentAsPage(width: 1_024, height: 654, orientation: .landscape, at: ms(200)) == ([], .invalidPageSize))
    #expect(machine.presentAsPage(width: 1_024, height: 655, orientation: .landscape, at: ms(200)).error == nil)
    #expect(
      machine.presentAsPage(width: 768, height: 1_024, orientation: .portrait, at: ms(300)).error == nil,
      "it turns with the interface")
  }

  @Test("D5: not presented, it expires at the end of its life: didUnload, and the object is finished")
  func expiresUnseen() throws {
    let ad = try interstitialAd()
    var machine = loadedInterstitial(ad)
    #expect(machine.advance(to: ms(300_099)) == [])
    #expect(machine.advance(to: ms(300_100)) == [.tell(.didUnload), .report(.ad(.unloaded, ad, 300_100))])
    #expect(machine.isFinished)
    #expect(!machine.isLoaded)
  }

  @Test("D6: what a late presentation finds expired is told as unloaded, and is not presented")
  func lateness() throws {
    let ad = try interstitialAd()
    var machine = loadedInterstitial(ad)
    #expect(
      machine.presentModally(isWithinDidLoad: false, at: ms(400_000)) == (
        [.tell(.didUnload), .report(.ad(.unloaded, ad, 400_000))], .notLoaded
      ))
  }

  @Test("D5: a modal ad outlives its time, and is unloaded at once when the user closes it")
  func modal() throws {
    let ad = try interstitialAd()
    var machine = modalInterstitial(ad)
    #expect(machine.advance(to: ms(500_000)) == [.report(.ad(.viewed, ad, 2_000))])
    #expect(
      machine.closed(at: ms(500_000)) == [.remove, .tell(.didUnload), .report(.ad(.unloaded, ad, 500_000))])
    #expect(machine.closed(at: ms(500_001)) == [])
  }

  @Test("D5: a page that expires off screen is unloaded at once")
  func pageExpiresOffScreen() throws {
    let ad = try interstitialAd()
    var machine = pageInterstitial(ad)
    #expect(
      machine.advance(to: ms(300_100)) == [
        .remove, .tell(.didUnload), .report(.ad(.unloaded, ad, 300_100)),
      ])
  }

  @Test("D5: a page that expires on screen is unloaded when it goes off screen")
  func pageExpiresOnScreen() throws {
    let ad = try interstitialAd()
    var machine = pageInterstitial(ad)
    _ = machine.visibleFractionChanged(to: 1, at: ms(299_000))
    #expect(machine.advance(to: ms(400_000)) == [.report(.ad(.viewed, ad, 300_000))])
    #expect(machine.isLoaded)
    #expect(
      machine.visibleFractionChanged(to: 0, at: ms(400_000)) == [
        .remove, .tell(.didUnload), .report(.ad(.unloaded, ad, 400_000)),
      ])
  }

  @Test("M4: a page that is paged past again and again is one impression")
  func pagedPast() throws {
    let ad = try interstitialAd()
    var machine = pageInterstitial(ad)
    var reports: [InterstitialAction] = []
    for start: Int64 in [2_000, 12_000, 22_000] {
      reports += machine.visibleFractionChanged(to: 1, at: ms(start))
      reports += machine.visibleFractionChanged(to: 0, at: ms(start + 5_000))
    }
    #expect(reports == [.report(.ad(.rendered, ad, 2_000)), .report(.ad(.viewed, ad, 3_000))])
  }

  @Test("D5: an error after loading is didFail first, then didUnload")
  func errorUnloads() throws {
    let ad = try interstitialAd()
    var machine = modalInterstitial(ad)
    #expect(
      machine.failed(.assetLoadFailure, at: ms(1_500)) == [
        .tell(.didFail(AdFailure(.assetLoadFailure))), .report(.ad(.failed(.assetLoadFailure), ad, 1_500)), .remove,
        .tell(.didUnload), .report(.ad(.unloaded, ad, 1_500)),
      ])
  }

  @Test("E6: going to the background while it loads is error 6; a loaded one stays")
  func background() throws {
    var loading = InterstitialStateMachine(requiredSizes: interstitialSizes)
    _ = loading.start(device: .pad, isAnotherLoading: false, at: ms(0))
    #expect(
      loading.enteredBackground(at: ms(10)) == [
        .tell(.didFail(AdFailure(.applicationInactive))), .report(.request(.failed(.applicationInactive), 1, 10)),
      ])
    var loaded = loadedInterstitial(try interstitialAd())
    #expect(loaded.enteredBackground(at: ms(200)) == [])
    #expect(loaded.enteredForeground(at: ms(300)) == [])
    #expect(loaded.isLoaded)
  }
}

@Suite("Interstitial: taps and actions")
struct InterstitialActionTests {
  @Test("D7, D8, M7: a covering action is a click after 2 s, and its finish is told")
  func covering() throws {
    let ad = try interstitialAd()
    var machine = modalInterstitial(ad)
    #expect(machine.tap(at: ms(1_500)) == [.askShouldBegin(willLeaveApplication: false)])
    #expect(
      machine.decide(shouldBegin: true, at: ms(1_450)) == [
        .fetchCover(destination: ad.action.destination, number: 1)
      ])
    #expect(
      machine.coverFetched(true, number: 1, at: ms(1_500)) == [.cover(destination: ad.action.destination)])
    #expect(machine.closed(at: ms(1_600)) == [], "what is covered cannot be closed")
    #expect(
      machine.advance(to: ms(3_500)) == [
        .report(.ad(.click(actionMilliseconds: 2_000, leftApplication: false), ad, 1_500))
      ])
    #expect(machine.actionFinished(at: ms(4_000)) == [.uncover, .tell(.actionDidFinish)])
    #expect(machine.advance(to: ms(5_000)) == [.report(.ad(.viewed, ad, 5_000))], "M1: covered is not seen")
  }

  @Test("D7: no blocks it, and that is told (A7)")
  func blocked() throws {
    let ad = try interstitialAd()
    var machine = modalInterstitial(ad)
    _ = machine.tap(at: ms(1_500))
    #expect(machine.decide(shouldBegin: false, at: ms(1_500)) == [.report(.ad(.blocked, ad, 1_500))])
  }

  @Test("D8: an action that leaves the application is a click at once, without a finish")
  func leaving() throws {
    let ad = try interstitialAd(kind: .leave)
    var machine = modalInterstitial(ad)
    #expect(machine.tap(at: ms(1_500)) == [.askShouldBegin(willLeaveApplication: true)])
    #expect(
      machine.decide(shouldBegin: true, at: ms(1_510)) == [
        .leaveApplication(destination: ad.action.destination),
        .report(.ad(.click(actionMilliseconds: 0, leftApplication: true), ad, 1_500)),
      ])
  }

  @Test("D8: the background uncovers and finishes a covering action first")
  func background() throws {
    let ad = try interstitialAd()
    var machine = modalInterstitial(ad)
    _ = machine.tap(at: ms(1_500))
    _ = machine.beginAction(at: ms(1_500))
    #expect(
      machine.enteredBackground(at: ms(1_900)) == [
        .uncover, .tell(.actionDidFinish),
        .report(.ad(.click(actionMilliseconds: 400, leftApplication: false), ad, 1_500)),
      ])
  }

  @Test("D9: cancelling an interstitial's action ends it without its finish, and is told (A7)")
  func cancelled() throws {
    let ad = try interstitialAd()
    var machine = modalInterstitial(ad)
    _ = machine.tap(at: ms(1_500))
    _ = machine.beginAction(at: ms(1_500))
    #expect(
      machine.cancelAction(at: ms(1_900)) == [
        .uncover, .report(.ad(.click(actionMilliseconds: 400, leftApplication: false), ad, 1_500)),
        .report(.ad(.cancelled(actionMilliseconds: 400), ad, 1_500)),
      ])
  }

  @Test("D10: a page that expires during its action stays until the action is over")
  func expiresDuringAction() throws {
    let ad = try interstitialAd()
    var machine = pageInterstitial(ad)
    _ = machine.visibleFractionChanged(to: 1, at: ms(290_000))
    _ = machine.tap(at: ms(292_000))
    _ = machine.beginAction(at: ms(292_000))
    _ = machine.advance(to: ms(294_000))
    #expect(machine.advance(to: ms(310_000)) == [])
    _ = machine.visibleFractionChanged(to: 0, at: ms(310_000))
    #expect(
      machine.actionFinished(at: ms(320_000)) == [
        .uncover, .tell(.actionDidFinish), .remove, .tell(.didUnload), .report(.ad(.unloaded, ad, 320_000)),
      ])
  }

  @Test("D10: one that is stopped during an action tells its finish first")
  func stopDuringAction() throws {
    let ad = try interstitialAd()
    var machine = modalInterstitial(ad)
    _ = machine.tap(at: ms(1_500))
    _ = machine.beginAction(at: ms(1_500))
    _ = machine.advance(to: ms(3_500))
    #expect(machine.stop(at: ms(4_000)) == [])
    #expect(
      machine.actionFinished(at: ms(5_000)) == [
        .uncover, .tell(.actionDidFinish), .remove, .tell(.didUnload), .report(.ad(.unloaded, ad, 5_000)),
      ])
    #expect(machine.isFinished)
  }
}
