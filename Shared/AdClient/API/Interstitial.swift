public import AdBasics

/// Something that an interstitial tells its app or asks it to draw.
public enum InterstitialEvent: Hashable, Sendable {
  case told(InterstitialCallback)
  /// Cover the app with the ad and a close button.
  case presentModally(AdContent)
  /// Draw the ad in the app's view.
  case presentAsPage(AdContent)
  /// Take the ad away.
  case remove
  /// Cover the app with what lies at the destination (D11).
  case cover(destination: String)
  /// Give the app its interface back.
  case uncover
  case leaveApplication(destination: String)
  /// The ad was seen (M1), and brings this.
  case paid(AdRevenue)
}

/// Hears of an interstitial on the main actor, where an app's views are (D13). Every method may be left out. One of another
/// actor tells its ``Interstitial/handler``.
@MainActor
public protocol InterstitialDelegate: AnyObject {
  /// An ad is on its way (D1).
  func interstitialWillLoad(_ interstitial: Interstitial)
  /// The ad is ready. Do not present it modally from here (D6).
  func interstitialDidLoad(_ interstitial: Interstitial)
  /// No ad, and why; make a new object to try again.
  func interstitial(_ interstitial: Interstitial, didFail failure: AdFailure)
  /// The content is gone; make a new object for another ad (D5).
  func interstitialDidUnload(_ interstitial: Interstitial)
  /// The user tapped: pause what needs the user, unless the app will be left, and say yes (D7).
  func interstitial(_ interstitial: Interstitial, actionShouldBeginLeavingApplication willLeave: Bool) -> Bool
  /// What covered the app is gone; not told after a cancelled action (D9).
  func interstitialActionDidFinish(_ interstitial: Interstitial)
  /// The ad was seen (M1): what it brings, to the nano.
  func interstitial(_ interstitial: Interstitial, paid revenue: AdRevenue)
  /// Draw, cover, leave: what the app's views do for the ad.
  func interstitial(_ interstitial: Interstitial, perform event: InterstitialEvent)
}

extension InterstitialDelegate {
  public func interstitialWillLoad(_ interstitial: Interstitial) {}
  public func interstitialDidLoad(_ interstitial: Interstitial) {}
  public func interstitial(_ interstitial: Interstitial, didFail failure: AdFailure) {}
  public func interstitialDidUnload(_ interstitial: Interstitial) {}
  public func interstitial(
    _ interstitial: Interstitial, actionShouldBeginLeavingApplication willLeave: Bool
  ) -> Bool { true }
  public func interstitialActionDidFinish(_ interstitial: Interstitial) {}
  public func interstitial(_ interstitial: Interstitial, paid revenue: AdRevenue) {}
  public func interstitial(_ interstitial: Interstitial, perform event: InterstitialEvent) {}
}

/// One full-screen ad, on pads only (S5): it loads once, is presented, and is gone (D5). It belongs to the actor it
/// was made on, and tells everything there (D13).
public final class Interstitial {
  /// The name the app gives this place (M6).
  public let placement: PlacementID
  /// Everything the ad tells, in order, beside the delegate.
  public let events: AsyncStream<InterstitialEvent>
  /// Hears everything that `events` has, on the object's actor: for whoever has no main actor. Nil ends it (D10).
  public var handler: ((InterstitialEvent) -> Void)?
  /// Answers whether an action should begin where there is no delegate (D7); nil says yes.
  public var shouldBeginAction: ((_ willLeaveApplication: Bool) -> Bool)?

  private let client: AdNetworkClient
  private let requiredIdentifiers: [String]
  private let imageSource: ContentSource?
  private let coverSource: ContentSource?
  private var machine: InterstitialStateMachine
  private var mainDelegate: MainActorDelegate<Interstitial, any InterstitialDelegate>?
  private let pump: AdObjectPump
  private var unseen = UnseenAds()
  private let eventSink: AsyncStream<InterstitialEvent>.Continuation
  private var requestID: UUIDv7?
  private var hasStarted = false
  private var isLoadingPlacement = false
  private var isTellingDidLoad = false
  /// Keeps the object alive while its action runs, or its finish would never be told (D10).
  private var selfDuringAction: Interstitial?

  /// Makes an interstitial, which loads its ad at once. On a phone it fails with `configurationError` (S5), and while
  /// another loads for the same placement with `loadingThrottled` (D5).
  ///
  /// - Parameters:
  ///   - client: The app's connection to the network.
  ///   - placement: The name the app gives this place (M6): 1 to 40 of a-z, 0-9 and -.
  ///   - requiredSizes: `portrait`, `landscape` or both; empty means both (S9).
  ///   - imageSource: Fetches images in place of the client (``AdClientOptions/fetchesImages``).
  ///   - coverSource: Fetches what covers the app after a tap (D11); nil when the app's covering view does.
  ///   - isolation: The actor that the object belongs to: the caller's.
  /// - Throws: `AdObjectError` for a placement that is no name, and for other identifiers (S3).
  public init(
    client: AdNetworkClient, placement: String, requiredSizes: [String] = [], imageSource: ContentSource? = nil,
    coverSource: ContentSource? = nil, isolation: isolated any Actor = #isolation
  ) throws(AdObjectError) {
    guard let placement = PlacementID(placement) else { throw .invalidPlacement(placement) }
    // A phone gets its refusal as a callback, like every other error of loading.
    let selection = SizeSelection.select(required: requiredSizes, current: "", device: .pad, isInterstitial: true)
    switch selection {
    case .refused(let error, let reason): throw .invalidSizes(error, reason: reason)
    case .resolved(let required, _):
      machine = InterstitialStateMachine(requiredSizes: required, timing: client.timing)
    }
    self.client = client
    self.placement = placement
    requiredIdentifiers = requiredSizes
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
    // The delegate can be set before anything is told.
    pump.sink(.wake)
  }

  deinit {
    for case .report(let report) in machine.stop(at: client.now) { send(report) }
    if isLoadingPlacement { client.endLoading(placement) }
    eventSink.finish()
  }

  /// Hears of the ad on the main actor; nil ends all callbacks (D10).
  @MainActor public var delegate: (any InterstitialDelegate)? {
    get { mainDelegate?.value }
    set { mainDelegate = newValue.map { MainActorDelegate($0) { $0 as? any InterstitialDelegate } } }
  }

  /// True from `didLoad` to `didUnload`; look at it when an ad is wanted, do not poll it (D6).
  public var isLoaded: Bool { machine.isLoaded }
  /// The ad from `didLoad` to `didUnload`: `serveID` and `requestID` name it to the network's support.
  public var loadedAd: AdContent? { machine.presentable }
  /// True from a tap to the end of its action.
  public var isActionInProgress: Bool { machine.isActionInProgress }

  /// Covers the app with the ad.
  ///
  /// - Throws: `PresentationError` when it is not loaded, or from within `didLoad` (D6).
  public func presentModally() throws(PresentationError) {
    try present { [isTellingDidLoad] machine, now in
      machine.presentModally(isWithinDidLoad: isTellingDidLoad, at: now)
    }
  }

  /// Draws the ad in a view of this size in points; call it again when the view turned (S6).
  ///
  /// - Throws: `PresentationError` when it is not loaded (D6), or the size is not S6's.
  public func presentAsPage(width: Int, height: Int, orientation: Orientation) throws(PresentationError) {
    try present { machine, now in
      machine.presentAsPage(width: width, height: height, orientation: orientation, at: now)
    }
  }

  /// The part of the page on screen, 0 to 1, changed.
  public func visibleFractionChanged(to fraction: Double) {
    run { machine, now in machine.visibleFractionChanged(to: fraction, at: now) }
  }

  /// The user closed the modal ad (D5).
  public func closed() { run { machine, now in machine.closed(at: now) } }

  /// The user tapped the ad (D7).
  public func tap() { run { machine, now in machine.tap(at: now) } }

  /// The user closed what covers the app (D8).
  public func actionFinished() { run { machine, now in machine.actionFinished(at: now) } }

  /// The user followed the covering ad into another application (D8).
  public func actionLeftApplication() { run { machine, now in machine.actionLeftApplication(at: now) } }

  /// Ends the action, because the user is urgently needed; `actionDidFinish` is not told (D9).
  public func cancelAction() { run { machine, now in machine.cancelAction(at: now) } }

  /// The application goes to the background (D8).
  public func enteredBackground() { run { machine, now in machine.enteredBackground(at: now) } }

  /// The application is in the foreground again.
  public func enteredForeground() { run { machine, now in machine.enteredForeground(at: now) } }

  /// The system is short of memory: an ad that nobody sees, and that does not act, is unloaded (T10, D10).
  public func memoryWarning() { run { machine, now in machine.memoryWarning(at: now) } }

  /// The ad cannot be drawn any more: `didFail`, then `didUnload` (D5).
  public func failed(_ error: AdError) { run { machine, now in machine.failed(error, at: now) } }

  /// The app is done with the ad; an action that runs is finished first (D10).
  public func stop() { run { machine, now in machine.stop(at: now) } }

  private func take(_ input: AdObjectPump.Input) {
    if case .wake = input { pump.timerFired() }
    switch input {
    case .answered(let result, _): run { machine, now in machine.answered(result, at: now) }
    case .imagesFetched(let succeeded, _): run { machine, now in machine.imagesFetched(succeeded, at: now) }
    case .coverFetched(let succeeded, let number):
      run { machine, now in machine.coverFetched(succeeded, number: number, at: now) }
    case .wake where hasStarted:
      run { machine, now in machine.advance(to: now) }
    case .wake:
      hasStarted = true
      isLoadingPlacement = client.beginLoading(placement)
      let isAnotherLoading = !isLoadingPlacement
      let device = client.session.identity.device
      run { machine, now in machine.start(device: device, isAnotherLoading: isAnotherLoading, at: now) }
    }
  }

  private func present(
    _ input: (inout InterstitialStateMachine, MonotonicTime) -> InterstitialStateMachine.Presentation
  ) throws(PresentationError) {
    var error: PresentationError?
    run { machine, now in
      let presentation = input(&machine, now)
      error = presentation.error
      return presentation.actions
    }
    if let error { throw error }
  }

  private func run(_ input: (inout InterstitialStateMachine, MonotonicTime) -> [InterstitialAction]) {
    let actions = input(&machine, client.now)
    if isLoadingPlacement, !machine.isLoading {
      isLoadingPlacement = false
      client.endLoading(placement)
    }
    for action in actions { perform(action) }
    selfDuringAction = machine.isActionInProgress ? self : nil
    pump.wake(at: machine.nextWake)
    if machine.isFinished { eventSink.finish() }
  }

  private func perform(_ action: InterstitialAction) {
    switch action {
    case .request:
      let wish = AdSession.Wish(placement: placement, requiredSizes: requiredIdentifiers, isInterstitial: true)
      let id = pump.request(wish, of: client.session, number: 1)
      requestID = id
      client.inspector.asked(id, placement, "full screen")
    case .fetchImages(let ad): pump.fetchImages(ad, from: imageSource, or: client.images, number: 1)
    case .fetchCover(let destination, let number):
      guard let coverSource else {
        return run { machine, now in machine.coverFetched(true, number: number, at: now) }
      }
      pump.fetchCover(destination, from: coverSource, number: number)
    case .tell(let callback): tell(callback)
    case .askShouldBegin(let willLeave):
      let answer =
        mainDelegate?.call(self) { $0.interstitial($1, actionShouldBeginLeavingApplication: willLeave) }
        ?? shouldBeginAction?(willLeave) ?? true
      run { machine, now in machine.decide(shouldBegin: answer, at: now) }
    case .report(let report): perform(report)
    case .presentModally(let ad): hand(.presentModally(ad))
    case .presentAsPage(let ad): hand(.presentAsPage(ad))
    case .remove: hand(.remove)
    case .cover(let destination): hand(.cover(destination: destination))
    case .uncover: hand(.uncover)
    case .leaveApplication(let destination): hand(.leaveApplication(destination: destination))
    }
  }

  private func perform(_ report: AdReport) {
    send(report)
    guard report.kind == .viewed, case .ad(let ad) = report.subject else { return }
    announce(.paid(ad.revenue))
    _ = mainDelegate?.call(self) { $0.interstitial($1, paid: ad.revenue) }
  }

  /// Tells the network; of an ad that nobody saw, that too.
  private func send(_ report: AdReport) {
    for report in [unseen.before(report), report].compactMap(\.self) {
      client.inspector.note(report, request: requestID)
      client.session.report(report, placement: placement, requestID: requestID)
    }
  }

  private func hand(_ event: InterstitialEvent) {
    announce(event)
    _ = mainDelegate?.call(self) { $0.interstitial($1, perform: event) }
  }

  private func announce(_ event: InterstitialEvent) {
    eventSink.yield(event)
    handler?(event)
  }

  private func tell(_ callback: InterstitialCallback) {
    var callback = callback
    if case .didFail(let failure) = callback {
      let explanation = failure.code == .serverFailure ? client.connectionDetail : ""
      let failure = failure.about(requestID, explanation: explanation)
      client.inspector.note(failure, request: requestID)
      callback = .didFail(failure)
    } else {
      client.inspector.note(requestID, "\(callback)", ad: machine.presentable)
    }
    isTellingDidLoad = callback == .didLoad
    announce(.told(callback))
    _ = mainDelegate?.call(self) { delegate, interstitial in
      switch callback {
      case .willLoad: delegate.interstitialWillLoad(interstitial)
      case .didLoad: delegate.interstitialDidLoad(interstitial)
      case .didFail(let failure): delegate.interstitial(interstitial, didFail: failure)
      case .didUnload: delegate.interstitialDidUnload(interstitial)
      case .actionDidFinish: delegate.interstitialActionDidFinish(interstitial)
      }
    }
    isTellingDidLoad = false
  }
}
