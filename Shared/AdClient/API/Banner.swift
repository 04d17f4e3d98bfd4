public import AdCore

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
}

/// Hears of a banner on the actor that the banner was made on (D13). Every method may be left out.
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
  /// Draw, cover, leave: what the app's views do for the banner.
  func banner(_ banner: Banner, perform event: BannerEvent)
}

extension BannerDelegate {
  public func bannerWillLoad(_ banner: Banner) {}
  public func bannerDidLoad(_ banner: Banner) {}
  public func banner(_ banner: Banner, didFail failure: AdFailure) {}
  public func banner(_ banner: Banner, actionShouldBeginLeavingApplication willLeave: Bool) -> Bool { true }
  public func bannerActionDidFinish(_ banner: Banner) {}
  public func banner(_ banner: Banner, perform event: BannerEvent) {}
}

/// A part of the screen that shows one ad after another. It belongs to the actor it was made on, and tells everything
/// there (D13). The app's view tells it what is on screen and what the user does.
public final class Banner {
  /// The name the app gives this place (M6).
  public let placement: PlacementID
  /// Everything the banner tells, in order, beside the delegate; keeps the newest hundred for a slow reader.
  public let events: AsyncStream<BannerEvent>
  /// Nil ends all callbacks (D10).
  public weak var delegate: (any BannerDelegate)?

  private let session: AdSession
  private let device: Device
  private let requiredIdentifiers: [String]
  private let imageSource: ImageSource?
  private var currentIdentifier: String
  private var machine: BannerStateMachine
  private let pump = AdObjectPump()
  private let eventSink: AsyncStream<BannerEvent>.Continuation
  private var requestID: UUIDv7?
  /// Keeps the banner alive while its action runs, or its finish would never be told (D10).
  private var selfDuringAction: Banner?

  /// Makes a banner, which asks for its first ad at once: make it only to show it (D3).
  ///
  /// - Parameters:
  ///   - requiredSizes: Size identifiers; every ad has an image for each. Empty means portrait and landscape (S4).
  ///   - currentSize: The one shown now; empty means the first.
  ///   - imageSource: Fetches images before `didLoad`; nil when the app's views fetch them by themselves.
  /// - Throws: ``AdObjectError`` for identifiers that do not exist on the device (S3, S4).
  public init(
    client: AdNetworkClient, placement: PlacementID, requiredSizes: [String] = [], currentSize: String = "",
    imageSource: ImageSource? = nil, isolation: isolated (any Actor)? = #isolation
  ) throws(AdObjectError) {
    device = client.session.identity.device
    let selection = SizeSelection.select(
      required: requiredSizes, current: currentSize, device: device, isInterstitial: false)
    switch selection {
    case .refused(let error, let reason): throw .invalidSizes(error, reason: reason)
    case .resolved(let required, let current):
      guard
        let machine = BannerStateMachine(
          requiredSizes: required, currentSize: current, timing: client.timing, at: DeviceClock.monotonic)
      else { throw .invalidSizes(.configurationError, reason: "S4: the current size is not a required one") }
      self.machine = machine
    }
    self.placement = placement
    session = client.session
    requiredIdentifiers = requiredSizes
    currentIdentifier = currentSize
    self.imageSource = imageSource
    (events, eventSink) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(100))
    let inputs = pump.inputs
    Task { [weak self] in
      // Naming the actor makes this closure run on it.
      _ = isolation
      for await input in inputs { self?.take(input) }
    }
    pump.sink(.wake)
  }

  deinit {
    for case .report(let report) in machine.stop(at: DeviceClock.monotonic) {
      session.report(report, placement: placement, requestID: requestID)
    }
    eventSink.finish()
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

  /// Shows the ad's image of another required size: the interface turned (S4). False for one that is not required.
  @discardableResult
  public func changeSize(to identifier: String) -> Bool {
    guard let size = AdSize.resolve(identifier: identifier, device: device) else { return false }
    var isRequired = false
    run { machine, now in
      let change = machine.sizeChanged(to: size, at: now)
      isRequired = change.isRequired
      return change.1
    }
    if isRequired { currentIdentifier = identifier }
    return isRequired
  }

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

  /// The banner is part of the interface again.
  public func putBack() { run { machine, now in machine.putBack(at: now) } }

  /// The app is done with the banner; an action that runs is finished first (D10).
  public func stop() { run { machine, now in machine.stop(at: now) } }

  private func take(_ input: AdObjectPump.Input) {
    if case .wake = input { pump.timerFired() }
    run { machine, now in
      switch input {
      case .answered(let result, let number): machine.answered(result, number: number, at: now)
      case .imagesFetched(let succeeded, let number): machine.imagesFetched(succeeded, number: number, at: now)
      case .wake:
        machine.advance(to: now)
      }
    }
  }

  private func run(_ input: (inout BannerStateMachine, MonotonicTime) -> [BannerAction]) {
    for action in input(&machine, DeviceClock.monotonic) { perform(action) }
    selfDuringAction = machine.isActionInProgress ? self : nil
    pump.wake(at: machine.nextWake)
    if machine.isEnded { eventSink.finish() }
  }

  private func perform(_ action: BannerAction) {
    switch action {
    case .request(let number):
      let wish = AdSession.Wish(
        placement: placement, requiredSizes: requiredIdentifiers, currentSize: currentIdentifier)
      requestID = session.request(wish) { [sink = pump.sink] in sink(.answered($0, number: number)) }
    case .fetchImages(let ad, let number): pump.fetchImages(ad, from: imageSource, number: number)
    case .tell(let callback): tell(callback)
    case .askShouldBegin(let willLeave):
      let answer = delegate?.banner(self, actionShouldBeginLeavingApplication: willLeave) ?? true
      run { machine, now in machine.decide(shouldBegin: answer, at: now) }
    case .report(let report): session.report(report, placement: placement, requestID: requestID)
    case .show(let ad, let size): hand(.show(ad, size: size))
    case .clear: hand(.clear)
    case .cover(let destination): hand(.cover(destination: destination))
    case .uncover: hand(.uncover)
    case .leaveApplication(let destination): hand(.leaveApplication(destination: destination))
    case .noteBriefDisplay(let milliseconds): hand(.shownBriefly(milliseconds: milliseconds))
    }
  }

  private func hand(_ event: BannerEvent) {
    eventSink.yield(event)
    delegate?.banner(self, perform: event)
  }

  private func tell(_ callback: BannerCallback) {
    var callback = callback
    if case .didFail(let failure) = callback { callback = .didFail(failure.about(requestID)) }
    eventSink.yield(.told(callback))
    switch callback {
    case .willLoad: delegate?.bannerWillLoad(self)
    case .didLoad: delegate?.bannerDidLoad(self)
    case .didFail(let failure): delegate?.banner(self, didFail: failure)
    case .actionDidFinish: delegate?.bannerActionDidFinish(self)
    }
  }
}
