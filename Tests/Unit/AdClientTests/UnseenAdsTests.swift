import AdBasics
import Testing

@testable import AdClient

@Suite("What nobody saw")
struct UnseenAdsTests {
  @Test("D3, D5: an ad that goes without having been on screen is told so, and whether its life was over")
  func before() throws {
    let ad = try sampleAd(lifetimeMilliseconds: 600_000)
    var unseen = UnseenAds()
    #expect(unseen.before(.ad(.unloaded, ad, 599_999)) == .ad(.neverShown, ad, 599_999))
    #expect(unseen.before(.ad(.unloaded, ad, 600_000)) == .ad(.expiredUnseen, ad, 600_000))
    #expect(unseen.before(.ad(.rendered, ad, 10)) == nil)
    #expect(unseen.before(.ad(.viewed, ad, 1_010)) == nil)
    #expect(unseen.before(.ad(.unloaded, ad, 700_000)) == nil, "somebody saw it")
    #expect(unseen.before(.request(.failed(.serverFailure), 1, 10)) == nil)
  }

  @MainActor
  @Test("D3, D5, D12: banners and full-screen ads tell the network")
  func told() async throws {
    let (clock, network) = (AdTestClock(), InMemoryNetwork())
    var options = AdClientOptions()
    options.device = .pad
    options.country = Country("DE")
    options.storage = .memory
    options.testClock = clock
    let client = try AdNetworkClient(app: sampleApp, key: "key", via: .inMemory(network), options: options)
    let hidden = try Banner(client: client, placement: "hidden")
    for await event in hidden.events where event == .told(.didLoad) { break }
    hidden.stop()
    #expect(network.told.suffix(2) == [.neverShown, .unloaded])
    let brief = try Banner(client: client, placement: "brief")
    for await event in brief.events where event == .told(.didLoad) { break }
    brief.visibleFractionChanged(to: 1)
    brief.visibleFractionChanged(to: 0)
    #expect(network.told.suffix(2) == [.rendered, .shownBriefly])
    brief.visibleFractionChanged(to: 1)
    brief.visibleFractionChanged(to: 0)
    #expect(network.told.suffix(2) == [.rendered, .shownBriefly], "once for each ad")
    let forgotten = try Interstitial(client: client, placement: "forgotten")
    for await event in forgotten.events where event == .told(.didLoad) { break }
    clock.advance(byMilliseconds: 1_000_000)
    for await event in forgotten.events where event == .told(.didUnload) { break }
    #expect(network.told.suffix(3).contains(.expiredUnseen))
  }
}
