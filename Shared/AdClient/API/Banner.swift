public import AdBasics

/// Something that a banner tells its app or asks it to draw.
public enum BannerEvent: Hashable, Sendable {
  case told(BannerCallback)
  /// Draw this ad's image of this size.
  case show(AdContent, size: AdSize)
  /// Draw nothing.
  case clear
  /// Cover the app with what lies at the destination (D11).
  case cover(destination: String)
  /// Give the app its interface back.
  case uncover
  case leaveApplication(destination: String)
  /// The banner was hidden this soon after it was shown (D12).
  case shownBriefly(milliseconds: Int64)
  /// The ad was seen (M1), and brings this.
  case paid(AdRevenue)
}

/// Hears of a banner on the main actor, where an app's views are (D13). Every method may be left out. A banner of another
/// actor tells its ``Banner/handler``.
@MainActor
public protocol BannerDelegate: AnyObject {
  /// An ad is on its way (D1).
  func bannerWillLoad(_ banner: Banner)
  /// An ad is ready to be shown (D1).
  func bannerDidLoad(_ banner: Banner)
  /// No ad, and why: hide the banner. It keeps trying (D2).
  func banner(_ banner: Banner, didFail failure: AdFailure)
  /// The user tapped: pause what needs the user, unless the app will be left, and say yes (D7).
  func banner(_ banner: Banner, actionShouldBeginLeavingApplication willLeave: Bool) -> Bool
  /// What covered the app is gone (D8).
  func bannerActionDidFinish(_ banner: Banner)
  /// The ad was seen (M1): what it brings, to the nano.
  func banner(_ banner: Banner, paid revenue: AdRevenue)
  /// Draw, cover, leave: what the app's views do for the banner.
  func banner(_ banner: Banner, perform event: BannerEvent)
}

extension BannerDelegate {
  public func bannerWillLoad(_ banner: Banner) {}
  public func bannerDidLoad(_ banner: Banner) {}
  public func banner(_ banner: Banner, didFail failure: AdFailure) {}
  public func banner(_ banner: Banner, actionShouldBeginLeavingApplication willLeave: Bool) -> Bool { true }
  public func bannerActionDidFinish(_ banner: Banner) {}
  public func banner(_ banner: Banner, paid revenue: AdRevenue) {}
  public func banner(_ banner: Banner, perform event: BannerEvent) {}
}

/// A part of the screen that shows one ad after another. It belongs to the actor it was made on, and tells everything
/// there (D13). The app's view tells it what is on screen and what the user does.
public final class Banner {
  /// The name the app gives this place (M6).
  public let placement: PlacementID
  /// Everything the banner tells, in order, beside the delegate; keeps the newest hundred for a slow reader.
  public let events: AsyncStream<BannerEvent>
  /// Hears everything that `events` has, on the banner's actor: for whoever has no main actor. Nil ends it (D10).
  public var handler: ((BannerEvent) -> Void)?
  /// Answers whether an action should begin where there is no delegate (D7); nil says yes.
  public var shouldBeginAction: ((_ willLeaveApplication: Bool) -> Bool)?

  private let client: AdNetworkClient
  private let device: Device
  private let imageSource: ContentSource?
  private let coverSource: ContentSource?
  private var sizes: BannerSizes
  private var machine: BannerStateMachine
  private var mainDelegate: MainActorDelegate<Banner, any BannerDelegate>?
  private let pump: AdObjectPump
  private var unseen = UnseenAds()
  /// The ad that was last told as shown briefly: each is once (D12).
  private var briefAd: ServeID?
  private let eventSink: AsyncStream<BannerEvent>.Continuation
  private var requestID: UUIDv7?
  /// Keeps the banner alive while its action runs, or its finish would never be told (D10).
  private var selfDuringAction: Banner?

  /// Makes a banner, which begins to ask for ads. Small as it is, an app keeps one for each place (D3, T7).
  ///
  /// - Parameters:
  ///   - client: The app's connection to the network.
  ///   - placement: The name the app gives this place (M6): 1 to 40 of a-z, 0-9 and -.
  ///   - requiredSizes: The size identifiers the app can show, ``SizeIdentifier``'s; empty means portrait and landscape
  ///     (S4).
  ///   - currentSize: The one to begin with; empty means the first.
  ///   - imageSource: Fetches images in place of the client (``AdClientOptions/fetchesImages``).
  ///   - coverSource: Fetches what covers the app after a tap (D11); nil when the app's covering view does.
  ///   - isolation: The actor that the banner belongs to: the caller's.
  /// - Throws: `AdObjectError` for a placement that is no name, and for identifiers that the device does not know (S3).
  public init(
    client: AdNetworkClient, placement: String, requiredSizes: [String] = [], currentSize: String = "",
    imageSource: ContentSource? = nil, coverSource: ContentSource? = nil,
    isolation: isolated any Actor = #isolation
  ) throws(AdObjectError) {
    guard let placement = PlacementID(placement) else { throw .invalidPlacement(placement) }
    device = client.session.identity.device
    sizes = try BannerSizes(required: requiredSizes, current: currentSize, device: device)
    let now = client.now
    machine = BannerStateMachine(
      sizes: sizes.resolved, timing: client.timing,
      firstAskAt: now.advanced(byMilliseconds: client.firstAskDelay(placement)))
    self.placement = placement
    self.client = client
    self.imageSource = imageSource
    self.coverSource = coverSource
    (events, eventSink) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(100))
    pump = AdObjectPump(clock: client.clock)
    let (inputs, session) = (pump.inputs, client.session)
    Task { [weak self] in
      // Naming the actor makes this closure run on it.
      _ = isolation
      for await input in inputs {
        if let self { self.take(input) } else { session.unheard(input, placement: placement) }
      }
    }
    pump.sink(.wake)
  }

  deinit {
    for case .report(let report) in machine.stop(at: client.now) { send(report) }
    eventSink.finish()
  }

  /// Hears of the banner on the main actor; nil ends all callbacks (D10).
  @MainActor public var delegate: (any BannerDelegate)? {
    get { mainDelegate?.value }
    set { mainDelegate = newValue.map { MainActorDelegate($0) { $0 as? any BannerDelegate } } }
  }

  /// True when there is an ad to show.
  public var isLoaded: Bool { machine.isLoaded }
  /// The ad that is shown or ready to be: `serveID` and `requestID` name it to the network's support.
  public var loadedAd: AdContent? { machine.loadedAd }
  /// True from a tap to the end of its action.
  public var isActionInProgress: Bool { machine.isActionInProgress }
  /// The size that is shown.
  public var currentSize: AdSize { machine.currentSize }

  /// The part of the banner on screen, 0 to 1, changed; `userNavigated` when the user went to another screen (D12).
  public func visibleFractionChanged(to fraction: Double, userNavigated: Bool = false) {
    run { machine, now in machine.visibleFractionChanged(to: fraction, userNavigated: userNavigated, at: now) }
  }

  /// The identifier of the size that is shown.
  public var currentSizeIdentifier: String { sizes.currentIdentifier }
  /// The identifiers that an ad must have images for (S4).
  public var requiredSizeIdentifiers: [String] { sizes.requiredIdentifiers }

  /// Shows the ad's image of another required size: the interface turned (S4). False for one that is not required.
  @discardableResult
  public func changeSize(to identifier: String) -> Bool {
    guard let changed = sizes.showing(identifier, device: device) else { return false }
    sizes = changed
    run { machine, now in machine.sizesChanged(to: changed.resolved, at: now) }
    return true
  }

  /// Changes what the app can show. An ad that lacks one of the sizes is given up (E7); one that has them all stays.
  ///
  /// - Parameters:
  ///   - identifiers: What it can show, ``SizeIdentifier``'s; empty means portrait and landscape (S4).
  ///   - currentSize: The one to show; empty means the first.
  /// - Throws: `AdObjectError` for identifiers that the device does not know (S3); then nothing has changed.
  public func setRequiredSizes(_ identifiers: [String], currentSize: String = "") throws(AdObjectError) {
    let changed = try BannerSizes(required: identifiers, current: currentSize, device: device)
    sizes = changed
    run { machine, now in machine.sizesChanged(to: changed.resolved, at: now) }
  }

  /// The system is short of memory: an ad that nobody sees, and that does not act, is given up (T4, D10).
  public func memoryWarning() { run { machine, now in machine.memoryWarning(at: now) } }

  /// The user tapped the banner (D7).
  public func tap() { run { machine, now in machine.tap(at: now) } }

  /// The user closed what covers the app (D8).
  public func actionFinished() { run { machine, now in machine.actionFinished(at: now) } }

  /// The user followed the covering ad into another application (D8).
  public func actionLeftApplication() { run { machine, now in machine.actionLeftApplication(at: now) } }

  /// Ends the action, because the user is urgently needed; `actionDidFinish` is told (D9).
  public func cancelAction() { run { machine, now in machine.cancelAction(at: now) } }

  /// The application goes to the background (D8).
  public func enteredBackground() { run { machine, now in machine.enteredBackground(at: now) } }

  /// The application is in the foreground again.
  public func enteredForeground() { run { machine, now in machine.enteredForeground(at: now) } }

  /// The banner leaves the interface for a while: it stops asking (D3).
  public func putAway() { run { machine, now in machine.putAway(at: now) } }

  /// The banner is part of the interface again. What is visible of it is told after that: while it is away no fraction is
  /// taken.
  public func putBack() { run { machine, now in machine.putBack(at: now) } }

  /// The app is done with the banner; an action that runs is finished first (D10).
  public func stop() { run { machine, now in machine.stop(at: now) } }

  private func take(_ input: AdObjectPump.Input) {
    if case .wake = input { pump.timerFired() }
    run { machine, now in
      switch input {
      case .answered(let result, let number): machine.answered(result, number: number, at: now)
      case .imagesFetched(let succeeded, let number): machine.imagesFetched(succeeded, number: number, at: now)
      case .coverFetched(let succeeded, let number): machine.coverFetched(succeeded, number: number, at: now)
      case .wake: machine.advance(to: now)
      }
    }
  }

  private func run(_ input: (inout BannerStateMachine, MonotonicTime) -> [BannerAction]) {
    for action in input(&machine, client.now) { perform(action) }
    selfDuringAction = machine.isActionInProgress ? self : nil
    pump.wake(at: machine.nextWake)
    if machine.isEnded { eventSink.finish() }
  }

  private func perform(_ action: BannerAction) {
    switch action {
    case .request(let number):
      let wish = AdSession.Wish(
        placement: placement, requiredSizes: sizes.requiredIdentifiers, currentSize: sizes.currentIdentifier)
      client.noteAsk(placement)
      let id = pump.request(wish, of: client.session, number: number)
      requestID = id
      client.inspector.asked(id, placement, "banner \(sizes.resolved.current.name)")
    case .fetchImages(let ad, let number): pump.fetchImages(ad, from: imageSource, or: client.images, number: number)
    case .fetchCover(let destination, let number):
      guard let coverSource else {
        return run { machine, now in machine.coverFetched(true, number: number, at: now) }
      }
      pump.fetchCover(destination, from: coverSource, number: number)
    case .tell(let callback): tell(callback)
    case .askShouldBegin(let willLeave):
      let answer =
        mainDelegate?.call(self) { $0.banner($1, actionShouldBeginLeavingApplication: willLeave) }
        ?? shouldBeginAction?(willLeave) ?? true
      run { machine, now in machine.decide(shouldBegin: answer, at: now) }
    case .report(let report): perform(report)
    case .show(let ad, let size): hand(.show(ad, size: size))
    case .clear: hand(.clear)
    case .cover(let destination): hand(.cover(destination: destination))
    case .uncover: hand(.uncover)
    case .leaveApplication(let destination): hand(.leaveApplication(destination: destination))
    case .noteBriefDisplay(let milliseconds):
      if let ad = machine.loadedAd, ad.serveID != briefAd {
        briefAd = ad.serveID
        send(AdReport(.shownBriefly, .ad(ad), at: client.now))
      }
      hand(.shownBriefly(milliseconds: milliseconds))
    }
  }

  private func perform(_ report: AdReport) {
    send(report)
    guard report.kind == .viewed, case .ad(let ad) = report.subject else { return }
    announce(.paid(ad.revenue))
    _ = mainDelegate?.call(self) { $0.banner($1, paid: ad.revenue) }
  }

  /// Tells the network; of an ad that nobody saw, that too.
  private func send(_ report: AdReport) {
    for report in [unseen.before(report), report].compactMap(\.self) {
      client.inspector.note(report, request: requestID)
      client.session.report(report, placement: placement, requestID: requestID)
    }
  }

  private func hand(_ event: BannerEvent) {
    announce(event)
    _ = mainDelegate?.call(self) { $0.banner($1, perform: event) }
  }

  private func announce(_ event: BannerEvent) {
    eventSink.yield(event)
    handler?(event)
  }

  private func tell(_ callback: BannerCallback) {
    var callback = callback
    if case .didFail(let failure) = callback {
      let explanation = failure.code == .serverFailure ? client.connectionDetail : ""
      let failure = failure.about(requestID, explanation: explanation)
      client.inspector.note(failure, request: requestID)
      callback = .didFail(failure)
    } else {
      client.inspector.note(requestID, "\(callback)", ad: machine.loadedAd)
    }
    announce(.told(callback))
    _ = mainDelegate?.call(self) { delegate, banner in
      switch callback {
      case .willLoad: delegate.bannerWillLoad(banner)
      case .didLoad: delegate.bannerDidLoad(banner)
      case .didFail(let failure): delegate.banner(banner, didFail: failure)
      case .actionDidFinish: delegate.bannerActionDidFinish(banner)
      }
    }
  }
}
