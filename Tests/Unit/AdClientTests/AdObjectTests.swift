import AdBasics
import AdEvents
import Testing

@testable import AdClient

@MainActor
private final class RecordingDelegate: BannerDelegate, InterstitialDelegate {
  var heard: [String] = []
  var allowsActions = true
  var presentsWithinDidLoad = false
  var presentationError: PresentationError?

  func bannerWillLoad(_ banner: Banner) { heard.append("willLoad") }
  func bannerDidLoad(_ banner: Banner) { heard.append("didLoad") }
  func banner(_ banner: Banner, didFail failure: AdFailure) { heard.append("didFail \(failure)") }
  func banner(_ banner: Banner, actionShouldBeginLeavingApplication willLeave: Bool) -> Bool {
    heard.append("shouldBegin \(willLeave)")
    return allowsActions
  }
  func bannerActionDidFinish(_ banner: Banner) { heard.append("didFinish") }

  func interstitialWillLoad(_ interstitial: Interstitial) { heard.append("willLoad") }
  func interstitialDidLoad(_ interstitial: Interstitial) {
    heard.append("didLoad")
    guard presentsWithinDidLoad else { return }
    do throws(PresentationError) { try interstitial.presentModally() } catch { presentationError = error }
  }
  func interstitial(_ interstitial: Interstitial, didFail failure: AdFailure) { heard.append("didFail \(failure)") }
  func interstitialDidUnload(_ interstitial: Interstitial) { heard.append("didUnload") }
}

/// A network that answers when the test says so.
private final class SlowTransport: NetworkTransport {
  private let inner = FakeTransport { _ in .noAnswer }
  /// Answers a request, one after the other.
  let asked: AsyncStream<@Sendable (RequestResult) -> Void>
  private let askedSink: AsyncStream<@Sendable (RequestResult) -> Void>.Continuation

  init() { (asked, askedSink) = AsyncStream.makeStream() }

  var told: [String] { inner.told }

  func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void
  ) {
    acknowledged()
    askedSink.yield(completion)
  }

  func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool {
    inner.send(event, ended: ended)
  }
}

/// The objects as an app uses them, on the main actor, over a network of the test's own.
@MainActor
@Suite("Banner and interstitial objects")
struct AdObjectTests {
  private func waitForBanner(_ banner: Banner, _ wanted: BannerCallback) async {
    for await event in banner.events where event == .told(wanted) { return }
  }

  @Test("D13, D1: the delegate hears everything on the actor where the banner was made, in order")
  func banner() async throws {
    let ad = try sampleAd(answeredAt: DeviceClock.monotonic.milliseconds)
    let transport = FakeTransport { _ in .ad(ad) }
    let placement = "home"
    let client = AdNetworkClient(identity: try sampleIdentity(), transport: transport)
    let banner = try Banner(client: client, placement: placement)
    let delegate = RecordingDelegate()
    banner.delegate = delegate
    await waitForBanner(banner, .didLoad)
    #expect(delegate.heard == ["willLoad", "didLoad"])
    banner.visibleFractionChanged(to: 1)
    #expect(banner.changeSize(to: "landscape"))
    #expect(!banner.changeSize(to: "mediumRectangle"), "S4: not a required size")
    banner.tap()
    #expect(banner.isActionInProgress)
    banner.cancelAction()
    #expect(delegate.heard == ["willLoad", "didLoad", "shouldBegin false", "didFinish"])
    delegate.allowsActions = false
    banner.tap()
    banner.stop()
    #expect(transport.told == ["rendered", "click", "cancelled", "blocked", "unloaded"])
    #expect(transport.requests.count == 1, "S4: turning asks for nothing")
    #expect(Set(transport.events.map(\.id)).count == 5)
    #expect(transport.events.allSatisfy { $0.partitionKey == "client-1" })
  }

  @Test("M1, D2: time passes by itself: a banner on screen tells its impression and asks for the next ad")
  func timers() async throws {
    var timing = AdTiming()
    timing.viewableMilliseconds = 30
    timing.refreshMilliseconds = 60
    let transport = FakeTransport { _ in
      (try? sampleAd(answeredAt: DeviceClock.monotonic.milliseconds)).map { .ad($0) } ?? .invalid
    }
    let client = AdNetworkClient(identity: try sampleIdentity(), transport: transport, timing: timing)
    let banner = try Banner(client: client, placement: "home")
    await waitForBanner(banner, .didLoad)
    banner.visibleFractionChanged(to: 1)
    var seen: [String] = []
    for await event in transport.arrivals {
      guard case .impression(let impression) = event.message else { break }
      seen.append("\(impression.kind)")
      if seen.count == 5 { break }
    }
    #expect(seen == ["rendered", "viewed", "unloaded", "rendered", "viewed"])
    banner.stop()
  }

  @Test("D10: a delegate set to nil hears nothing more, and no delegate means yes (D7)")
  func noDelegate() async throws {
    let ad = try sampleAd(answeredAt: DeviceClock.monotonic.milliseconds)
    let transport = FakeTransport { _ in .ad(ad) }
    let client = AdNetworkClient(identity: try sampleIdentity(clientID: nil), transport: transport)
    let banner = try Banner(client: client, placement: "home")
    let delegate = RecordingDelegate()
    banner.delegate = delegate
    await waitForBanner(banner, .didLoad)
    banner.delegate = nil
    banner.visibleFractionChanged(to: 1)
    banner.tap()
    #expect(banner.isActionInProgress)
    banner.actionFinished()
    #expect(delegate.heard == ["willLoad", "didLoad"])
    #expect(
      transport.events.allSatisfy { $0.partitionKey == "session-1" }, "A8: without a client id the session counts")
  }

  @Test("D10: a banner whose action runs stays alive though the app let go of it")
  func staysAlive() async throws {
    let ad = try sampleAd(answeredAt: DeviceClock.monotonic.milliseconds)
    let transport = FakeTransport { _ in .ad(ad) }
    let client = AdNetworkClient(identity: try sampleIdentity(), transport: transport)
    var banner: Banner? = try Banner(client: client, placement: "home")
    if let banner { await waitForBanner(banner, .didLoad) }
    weak let watched = banner
    banner?.visibleFractionChanged(to: 1)
    banner?.tap()
    banner = nil
    #expect(watched != nil)
    watched?.actionFinished()
    #expect(watched == nil)
    #expect(transport.told.last == "unloaded")
  }

  @Test("D3: an ad that comes when whoever asked for it is gone is told of", arguments: [Device.phone, .pad])
  func comesTooLate(device: Device) async throws {
    for isAnsweredFirst in [false, true] {
      let ad = try sampleAd(answeredAt: DeviceClock.monotonic.milliseconds)
      let transport = SlowTransport()
      let client = AdNetworkClient(identity: try sampleIdentity(device: device), transport: transport)
      var banner = device == .phone ? try Banner(client: client, placement: "home") : nil
      var interstitial = device == .pad ? try Interstitial(client: client, placement: "home") : nil
      for await answer in transport.asked {
        // What lies before the object is not taken before it is gone: both are on this actor.
        if isAnsweredFirst { answer(.ad(ad)) }
        (banner, interstitial) = (nil, nil)
        if !isAnsweredFirst { answer(.ad(ad)) }
        break
      }
      for _ in 0..<1_000 where transport.told.count < 2 { await Task.yield() }
      #expect(transport.told == ["neverShown", "unloaded"])
      #expect(banner == nil && interstitial == nil)
    }
  }

  @Test("S3: unknown size identifiers are refused when the banner is made")
  func unknownSize() throws {
    let client = AdNetworkClient(identity: try sampleIdentity(), transport: FakeTransport { _ in .noAnswer })
    let placement = "home"
    #expect(throws: AdObjectError.self) {
      try Banner(client: client, placement: placement, requiredSizes: ["728x90"])
    }
  }

  @Test("D6: a modal presentation from within didLoad is refused; later it is not")
  func interstitial() async throws {
    let ad = try sampleAd(
      lifetimeMilliseconds: 300_000, sizes: [.padInterstitialPortrait, .padInterstitialLandscape],
      answeredAt: DeviceClock.monotonic.milliseconds)
    let transport = FakeTransport { _ in .ad(ad) }
    let client = AdNetworkClient(identity: try sampleIdentity(device: .pad), transport: transport)
    let interstitial = try Interstitial(client: client, placement: "between-levels")
    let delegate = RecordingDelegate()
    delegate.presentsWithinDidLoad = true
    interstitial.delegate = delegate
    for await event in interstitial.events where event == .told(.didLoad) { break }
    #expect(delegate.presentationError == .withinDidLoad)
    try interstitial.presentModally()
    interstitial.closed()
    #expect(delegate.heard == ["willLoad", "didLoad", "didUnload"])
    #expect(transport.requests.map(\.isInterstitial) == [true])
    #expect(transport.told == ["rendered", "unloaded"])
  }

  @Test("E4: the network's sentence and the request's id reach the app: the delegate and the events")
  func failureDetail() async throws {
    let sentence = "placement is not a slug"
    let transport = FakeTransport { _ in .error(.configurationError, detail: sentence) }
    let client = AdNetworkClient(identity: try sampleIdentity(device: .pad), transport: transport)
    let placement = "home"
    let delegate = RecordingDelegate()

    let banner = try Banner(client: client, placement: placement)
    banner.delegate = delegate
    for await event in banner.events {
      let id = try #require(transport.requests.first).requestID
      let failure = AdFailure(
        .configurationError, detail: sentence, requestID: id, retryAfterMilliseconds: 30_000)
      #expect(event == .told(.didFail(failure)))
      break
    }
    let interstitial = try Interstitial(client: client, placement: placement)
    interstitial.delegate = delegate
    for await event in interstitial.events {
      let id = try #require(transport.requests.last).requestID
      #expect(event == .told(.didFail(AdFailure(.configurationError, detail: sentence, requestID: id))))
      break
    }
    let heard = "didFail configurationError: \(sentence)"
    #expect(delegate.heard == [heard, heard])
    #expect(transport.told.isEmpty, "the network knows of its own errors")
  }

  @Test("An app can name the ad that it shows: its serve id and its request's id")
  func namesItsAd() async throws {
    let bannerAd = try sampleAd()
    let client = AdNetworkClient(
      identity: try sampleIdentity(), transport: FakeTransport { _ in .ad(bannerAd) })
    let banner = try Banner(client: client, placement: "home")
    #expect(banner.loadedAd == nil)
    for await event in banner.events where event == .told(.didLoad) { break }
    #expect(banner.loadedAd?.serveID == sampleServeID && banner.loadedAd?.requestID == sampleRequestID)
    banner.stop()
    #expect(banner.loadedAd == nil)
  }

  @Test("S5: on a phone an interstitial fails with configurationError and asks nothing")
  func phone() async throws {
    let transport = FakeTransport { _ in .noAnswer }
    let client = AdNetworkClient(identity: try sampleIdentity(), transport: transport)
    let interstitial = try Interstitial(client: client, placement: "between-levels")
    var events: [InterstitialEvent] = []
    for await event in interstitial.events { events.append(event) }
    #expect(
      events == [
        .told(.didFail(AdFailure(.configurationError, detail: "S5: a full-screen ad is for pads only")))
      ])
    #expect(transport.requests.isEmpty)
  }
}
