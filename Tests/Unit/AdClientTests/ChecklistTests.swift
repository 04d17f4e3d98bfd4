import AdBasics
import Testing

@testable import AdClient

/// An app as the rules want it, over a network within the process.
@MainActor
private final class SampleApp: BannerDelegate, InterstitialDelegate {
  let network: InMemoryNetwork
  let client: AdNetworkClient
  var banner: Banner?
  var page: Interstitial?
  var isBannerOnScreen = false
  var isPaused = false
  var isCovered = false
  var isAdCleared = false
  var size: AdSize?
  var briefDisplays = 0
  var unloads = 0

  init(device: Device = .phone, _ behaviour: InMemoryNetwork.Behaviour = InMemoryNetwork.Behaviour()) throws {
    network = InMemoryNetwork(behaviour)
    var options = AdClientOptions()
    options.device = device
    options.storage = .memory
    client = try AdNetworkClient(app: "sample-app", key: "key", via: .inMemory(network), options: options)
  }

  func loadBanner() async throws -> Banner {
    let banner = try Banner(client: client, placement: "home")
    self.banner = banner
    banner.delegate = self
    for await event in banner.events {
      guard case .told(let callback) = event, callback != .willLoad else { continue }
      return banner
    }
    return banner
  }

  func loadPage() async throws -> Interstitial {
    let page = try Interstitial(client: client, placement: "between-levels")
    self.page = page
    page.delegate = self
    for await event in page.events where event == .told(.didLoad) { break }
    return page
  }

  func bannerDidLoad(_ banner: Banner) {
    isBannerOnScreen = true
    banner.visibleFractionChanged(to: 1)
  }
  func banner(_ banner: Banner, didFail failure: AdFailure) {
    isBannerOnScreen = false
    banner.visibleFractionChanged(to: 0)
  }
  func banner(_ banner: Banner, actionShouldBeginLeavingApplication willLeave: Bool) -> Bool {
    if !willLeave { isPaused = true }
    return true
  }
  func bannerActionDidFinish(_ banner: Banner) { isPaused = false }
  func banner(_ banner: Banner, perform event: BannerEvent) {
    switch event {
    case .show(_, let shown): (size, isAdCleared) = (shown, false)
    case .clear: (size, isAdCleared) = (nil, true)
    case .cover: isCovered = true
    case .uncover: isCovered = false
    case .shownBriefly: briefDisplays += 1
    case .leaveApplication, .paid, .told: break
    }
  }

  func interstitial(_ interstitial: Interstitial, actionShouldBeginLeavingApplication willLeave: Bool) -> Bool {
    if !willLeave { isPaused = true }
    return true
  }
  func interstitialActionDidFinish(_ interstitial: Interstitial) { isPaused = false }
  func interstitialDidUnload(_ interstitial: Interstitial) { unloads += 1 }
  func interstitial(_ interstitial: Interstitial, perform event: InterstitialEvent) {
    switch event {
    case .cover: isCovered = true
    case .uncover: isCovered = false
    case .remove: isAdCleared = true
    case .told, .presentModally, .presentAsPage, .leaveApplication, .paid: break
    }
  }
}

@MainActor
@Suite("The checklist for apps, line by line")
struct ChecklistTests {
  @Test("T1: banners turn with the interface")
  func t1() async throws {
    let app = try SampleApp()
    let banner = try await app.loadBanner()
    #expect(app.size == .phoneBannerPortrait)
    #expect(banner.changeSize(to: SizeIdentifier.landscape))
    #expect(app.size == .phoneBannerLandscape)
    #expect(app.network.requested.count == 1)
  }

  @Test("T2: a banner is on screen only while it has an ad")
  func t2() async throws {
    var behaviour = InMemoryNetwork.Behaviour()
    behaviour.nextErrors = [.inventoryUnavailable]
    let without = try SampleApp(behaviour)
    #expect(try await !without.loadBanner().isLoaded)
    #expect(!without.isBannerOnScreen)
    let with = try SampleApp()
    let banner = try await with.loadBanner()
    #expect(with.isBannerOnScreen)
    try banner.setRequiredSizes([SizeIdentifier.mediumRectangle])
    #expect(!with.isBannerOnScreen && with.isAdCleared, "E7: its ad has no such image")
  }

  @Test("T3: what else the app does pauses when the user taps a banner")
  func t3() async throws {
    let app = try SampleApp()
    try await app.loadBanner().tap()
    #expect(app.isPaused && app.isCovered)
  }

  @Test("T4: a warning of low memory is heeded while a banner is there")
  func t4() async throws {
    let app = try SampleApp()
    let banner = try await app.loadBanner()
    banner.memoryWarning()
    #expect(banner.isLoaded, "the user sees it")
    banner.visibleFractionChanged(to: 0, userNavigated: true)
    banner.memoryWarning()
    #expect(!banner.isLoaded && app.isAdCleared)
  }

  @Test("T5: everything goes on when a banner's action has finished")
  func t5() async throws {
    let app = try SampleApp()
    let banner = try await app.loadBanner()
    banner.tap()
    banner.actionFinished()
    #expect(!app.isPaused && !app.isCovered && !banner.isActionInProgress)
  }

  @Test("T6: everything goes on when the app has cancelled a banner's action")
  func t6() async throws {
    let app = try SampleApp()
    let banner = try await app.loadBanner()
    banner.tap()
    banner.cancelAction()
    #expect(!app.isPaused && !app.isCovered && !banner.isActionInProgress)
    #expect(app.network.told.contains { if case .cancelled = $0 { true } else { false } })
  }

  @Test("T7: a new screen has its banner soon: one that screens share keeps its content")
  func t7() async throws {
    let app = try SampleApp()
    let banner = try await app.loadBanner()
    let ad = banner.loadedAd
    banner.visibleFractionChanged(to: 0, userNavigated: true)
    banner.visibleFractionChanged(to: 1)
    #expect(banner.loadedAd == ad && banner.isLoaded)
    #expect(app.briefDisplays == 0, "D12: the user went there")
    #expect(app.network.told.filter { $0 == .rendered }.count == 1)
  }

  @Test("T8: full-screen ads turn with the interface")
  func t8() async throws {
    let app = try SampleApp(device: .pad)
    let page = try await app.loadPage()
    try page.presentAsPage(width: 1_024, height: 700, orientation: .landscape)
    try page.presentAsPage(width: 768, height: 1_000, orientation: .portrait)
    #expect(throws: PresentationError.invalidPageSize) {
      try page.presentAsPage(width: 1_024, height: 700, orientation: .portrait)
    }
    #expect(page.isLoaded)
  }

  @Test("T9: what else the app does pauses when the user taps a full-screen ad")
  func t9() async throws {
    let app = try SampleApp(device: .pad)
    let page = try await app.loadPage()
    try page.presentModally()
    page.tap()
    #expect(app.isPaused && app.isCovered)
  }

  @Test("T10: a warning of low memory is heeded while a full-screen ad is there")
  func t10() async throws {
    let app = try SampleApp(device: .pad)
    let shown = try await app.loadPage()
    try shown.presentModally()
    shown.memoryWarning()
    #expect(shown.isLoaded, "the user sees it")
    shown.closed()
    let waiting = try await app.loadPage()
    waiting.memoryWarning()
    #expect(!waiting.isLoaded && app.unloads == 2)
  }

  @Test("T11: everything goes on when a full-screen ad's action has finished")
  func t11() async throws {
    let app = try SampleApp(device: .pad)
    let page = try await app.loadPage()
    try page.presentModally()
    page.tap()
    page.actionFinished()
    #expect(!app.isPaused && !app.isCovered && page.isLoaded)
  }

  @Test(
    "T12: everything goes on when the app has cancelled a full-screen ad's action, which knows it and is not told (D9)")
  func t12() async throws {
    let app = try SampleApp(device: .pad)
    let page = try await app.loadPage()
    try page.presentModally()
    page.tap()
    page.cancelAction()
    #expect(app.isPaused, "not told")
    #expect(!app.isCovered && !page.isActionInProgress && page.isLoaded)
  }

  @Test(
    "T13: no full-screen ad expires before it is displayed: it lives at least 5 minutes, and longer while it is seen")
  func t13() throws {
    let ad = try interstitialAd(lifetimeMilliseconds: 300_000)
    var waiting = loadedInterstitial(ad)
    #expect(waiting.advance(to: ms(300_099)) == [] && waiting.isLoaded)
    var modal = loadedInterstitial(ad)
    _ = modal.presentModally(isWithinDidLoad: false, at: ms(300_099))
    _ = modal.advance(to: ms(10_000_000))
    #expect(modal.isLoaded)
  }

  @Test("T14: a page in a scroll view whose ad has expired is cleaned up when it goes off screen")
  func t14() throws {
    var page = pageInterstitial(try interstitialAd(lifetimeMilliseconds: 300_000))
    _ = page.visibleFractionChanged(to: 1, at: ms(2_000))
    _ = page.advance(to: ms(400_000))
    #expect(page.isLoaded, "the user looks at it")
    let actions = page.visibleFractionChanged(to: 0, at: ms(400_001))
    #expect(actions.contains(.remove) && actions.contains(.tell(.didUnload)))
    #expect(page.isFinished)
  }

  @Test("B2, B3: an impression tells what it brings, to the nano")
  func paid() async throws {
    let revenue = AdRevenue(amount: Nanos(6_000_001), currency: Currency("USD"))
    var timing = AdTiming()
    timing.viewableMilliseconds = 1
    let ad = try sampleAd(answeredAt: DeviceClock.monotonic.milliseconds, revenue: revenue)
    let client = AdNetworkClient(
      identity: try sampleIdentity(), transport: FakeTransport { _ in .ad(ad) }, timing: timing)
    let banner = try Banner(client: client, placement: "home")
    for await event in banner.events {
      if event == .told(.didLoad) { banner.visibleFractionChanged(to: 1) }
      guard case .paid(let paid) = event else { continue }
      #expect(paid == revenue)
      break
    }
    banner.stop()
  }
}
