public import AdCore

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
}

/// Hears of an interstitial on the actor that it was made on (D13). Every method may be left out.
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
  public func interstitial(_ interstitial: Interstitial, perform event: InterstitialEvent) {}
}

/// One full-screen ad, on pads only (S5): it loads once, is presented, and is gone (D5). It belongs to the actor it
/// was made on, and tells everything there (D13).
public final class Interstitial {
  /// The name the app gives this place (M6).
  public let placement: PlacementID
  /// Everything the ad tells, in order, beside the delegate.
  public let events: AsyncStream<InterstitialEvent>
  /// Nil ends all callbacks (D10).
  public weak var delegate: (any InterstitialDelegate)?

  private let client: AdNetworkClient
  private let requiredIdentifiers: [String]
  private let imageSource: ImageSource?
  private var machine: InterstitialStateMachine
  private let pump = AdObjectPump()
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
  /// - Parameter requiredSizes: `portrait`, `landscape` or both; empty means both (S9).
  /// - Throws: ``AdObjectError`` for other identifiers (S3).
  public init(
    client: AdNetworkClient, placement: PlacementID, requiredSizes: [String] = [], imageSource: ImageSource? = nil,
    isolation: isolated (any Actor)? = #isolation
  ) throws(AdObjectError) {
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
    (events, eventSink) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(100))
    let inputs = pump.inputs
    Task { [weak self] in
      // Naming the actor makes this closure run on it.
      _ = isolation
      for await input in inputs { self?.take(input) }
    }
    // The delegate can be set before anything is told.
    pump.sink(.wake)
  }

  deinit {
    for case .report(let report) in machine.stop(at: DeviceClock.monotonic) {
      client.session.report(report, placement: placement, requestID: requestID)
    }
    if isLoadingPlacement { client.endLoading(placement) }
    eventSink.finish()
  }

  /// True from `didLoad` to `didUnload`; look at it when an ad is wanted, do not poll it (D6).
  public var isLoaded: Bool { machine.isLoaded }
  /// The ad from `didLoad` to `didUnload`: `serveID` and `requestID` name it to the network's support.
  public var loadedAd: AdContent? { machine.presentable }
  /// True from a tap to the end of its action.
  public var isActionInProgress: Bool { machine.isActionInProgress }

  /// Covers the app with the ad.
  ///
  /// - Throws: ``PresentationError`` when it is not loaded, or from within `didLoad` (D6).
  public func presentModally() throws(PresentationError) {
    try present { [isTellingDidLoad] machine, now in
      machine.presentModally(isWithinDidLoad: isTellingDidLoad, at: now)
    }
  }

  /// Draws the ad in a view of this size in points; call it again when the view turned (S6).
  ///
  /// - Throws: ``PresentationError`` when it is not loaded (D6), or the size is not S6's.
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

  /// The ad cannot be drawn any more: `didFail`, then `didUnload` (D5).
  public func failed(_ error: AdError) { run { machine, now in machine.failed(error, at: now) } }

  /// The app is done with the ad; an action that runs is finished first (D10).
  public func stop() { run { machine, now in machine.stop(at: now) } }

  private func take(_ input: AdObjectPump.Input) {
    if case .wake = input { pump.timerFired() }
    switch input {
    case .answered(let result, _): run { machine, now in machine.answered(result, at: now) }
    case .imagesFetched(let succeeded, _): run { machine, now in machine.imagesFetched(succeeded, at: now) }
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
    let actions = input(&machine, DeviceClock.monotonic)
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
      requestID = client.session.request(wish) { [sink = pump.sink] in sink(.answered($0, number: 1)) }
    case .fetchImages(let ad): pump.fetchImages(ad, from: imageSource, number: 1)
    case .tell(let callback): tell(callback)
    case .askShouldBegin(let willLeave):
      let answer = delegate?.interstitial(self, actionShouldBeginLeavingApplication: willLeave) ?? true
      run { machine, now in machine.decide(shouldBegin: answer, at: now) }
    case .report(let report): client.session.report(report, placement: placement, requestID: requestID)
    case .presentModally(let ad): hand(.presentModally(ad))
    case .presentAsPage(let ad): hand(.presentAsPage(ad))
    case .remove: hand(.remove)
    case .cover(let destination): hand(.cover(destination: destination))
    case .uncover: hand(.uncover)
    case .leaveApplication(let destination): hand(.leaveApplication(destination: destination))
    }
  }

  private func hand(_ event: InterstitialEvent) {
    eventSink.yield(event)
    delegate?.interstitial(self, perform: event)
  }

  private func tell(_ callback: InterstitialCallback) {
    var callback = callback
    if case .didFail(let failure) = callback { callback = .didFail(failure.about(requestID)) }
    eventSink.yield(.told(callback))
    switch callback {
    case .willLoad: delegate?.interstitialWillLoad(self)
    case .didLoad:
      isTellingDidLoad = true
      delegate?.interstitialDidLoad(self)
      isTellingDidLoad = false
    case .didFail(let failure): delegate?.interstitial(self, didFail: failure)
    case .didUnload: delegate?.interstitialDidUnload(self)
    case .actionDidFinish: delegate?.interstitialActionDidFinish(self)
    }
  }
}
