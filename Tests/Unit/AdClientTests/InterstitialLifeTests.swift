import AdBasics
import Testing

@testable import AdClient

@Suite("Interstitial: low memory, and what covers")
struct InterstitialLifeTests {
  @Test("T10, D10: low memory unloads an ad that nobody sees, and none that is seen or acts")
  func memory() throws {
    let ad = try interstitialAd()
    var waiting = loadedInterstitial(ad)
    #expect(waiting.memoryWarning(at: ms(500)) == [.tell(.didUnload), .report(.ad(.unloaded, ad, 500))])
    var modal = loadedInterstitial(ad)
    _ = modal.presentModally(isWithinDidLoad: false, at: ms(500))
    #expect(modal.memoryWarning(at: ms(600)) == [])
    _ = modal.tap(at: ms(700))
    _ = modal.beginAction(at: ms(700))
    #expect(modal.memoryWarning(at: ms(800)) == [])
    #expect(modal.isLoaded)
  }

  @Test("D5: closing while what covers is on its way ends the action, and then the ad")
  func closedBeforeCover() throws {
    let ad = try interstitialAd()
    var machine = modalInterstitial(ad)
    _ = machine.tap(at: ms(1_500))
    _ = machine.decide(shouldBegin: true, at: ms(1_500))
    #expect(
      machine.closed(at: ms(1_600)) == [
        .report(.ad(.click(actionMilliseconds: 0, leftApplication: false), ad, 1_500)), .tell(.actionDidFinish),
        .remove, .tell(.didUnload), .report(.ad(.unloaded, ad, 1_600)),
      ])
    #expect(machine.isFinished && machine.nextWake == nil)
    #expect(machine.coverFetched(true, number: 1, at: ms(1_700)) == [])
  }

  @Test("E8, E9: images that do not come in time, or after the ad's life, are an error", arguments: [true, false])
  func images(isLate: Bool) throws {
    let ad = try interstitialAd(lifetimeMilliseconds: isLate ? 300_000 : 60_000)
    var machine = InterstitialStateMachine(requiredSizes: interstitialSizes)
    _ = machine.start(device: .pad, isAnotherLoading: false, at: ms(0))
    _ = machine.answered(.ad(ad), at: ms(500))
    #expect(machine.nextWake == ms(60_500))
    let error: AdError = isLate ? .assetLoadFailure : .adResponseValidateFailure
    let end: Int64 = isLate ? 60_500 : 60_000
    #expect(
      (isLate ? machine.advance(to: ms(end)) : machine.imagesFetched(true, at: ms(end))) == [
        .tell(.didFail(AdFailure(error))), .report(.ad(.failed(error), ad, end)), .report(.ad(.unloaded, ad, end)),
      ])
    #expect(machine.isFinished && machine.nextWake == nil)
  }

  @Test("D11, E8, D5: what covers and cannot be had is didFail, then didUnload")
  func coverMissing() throws {
    let ad = try interstitialAd()
    var machine = loadedInterstitial(ad)
    _ = machine.presentModally(isWithinDidLoad: false, at: ms(500))
    _ = machine.tap(at: ms(700))
    _ = machine.decide(shouldBegin: true, at: ms(700))
    #expect(
      machine.coverFetched(false, number: 1, at: ms(900)) == [
        .report(.ad(.click(actionMilliseconds: 0, leftApplication: false), ad, 700)), .tell(.actionDidFinish),
        .tell(.didFail(AdFailure(.assetLoadFailure))), .report(.ad(.failed(.assetLoadFailure), ad, 900)), .remove,
        .tell(.didUnload), .report(.ad(.unloaded, ad, 900)),
      ])
    #expect(machine.isFinished)
  }
}
