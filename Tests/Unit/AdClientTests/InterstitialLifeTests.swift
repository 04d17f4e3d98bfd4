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
