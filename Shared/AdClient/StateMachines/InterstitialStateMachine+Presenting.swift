package import AdBasics

/// Presenting, paging, taps and the end (D5 to D10).
extension InterstitialStateMachine {
  /// What came of a presentation: what is to be done all the same, and the error if it was refused.
  package typealias Presentation = (actions: [InterstitialAction], error: PresentationError?)

  /// Covers the app with the ad. `isWithinDidLoad` says that the call comes from within `didLoad` (D6).
  package mutating func presentModally(isWithinDidLoad: Bool, at now: MonotonicTime) -> Presentation {
    var actions = advance(to: now)
    switch state {
    case .loaded(let ad, _):
      if isWithinDidLoad { return (actions, .withinDidLoad) }
      state = .modal(ad)
      fraction = 1
      actions.append(.presentModally(ad))
      visibilityChanged(at: now, &actions)
      return (actions, nil)
    case .modal, .page: return (actions, .alreadyPresented)
    case .created, .asked, .fetching, .finished: return (actions, .notLoaded)
    }
  }

  /// Draws the ad in a view of the app, whose size in points must be that of S6; a page that turned with the interface is
  /// presented again with its new size. It is seen once `visibleFractionChanged` says so.
  package mutating func presentAsPage(
    width: Int, height: Int, orientation: Orientation, at now: MonotonicTime
  ) -> Presentation {
    var actions = advance(to: now)
    switch state {
    case .loaded(let ad, let expiresAt), .page(let ad, let expiresAt):
      guard AdSize.hostViewAccepts(width: width, height: height, orientation: orientation) else {
        return (actions, .invalidPageSize)
      }
      state = .page(ad, expiresAt: expiresAt)
      actions.append(.presentAsPage(ad))
      return (actions, nil)
    case .modal: return (actions, .alreadyPresented)
    case .created, .asked, .fetching, .finished: return (actions, .notLoaded)
    }
  }

  /// The app shows `fraction` (0 to 1) of the page. An expired page that goes off screen is unloaded (D5).
  package mutating func visibleFractionChanged(to fraction: Double, at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    guard case .page = state else { return actions }
    // A fraction that is no number shows nothing.
    self.fraction = fraction > 0 ? min(fraction, 1) : 0
    visibilityChanged(at: now, &actions)
    return actions + advance(to: now)
  }

  /// The user closed a modal ad, maybe while what covers it was on its way: its content expires at once (D5).
  package mutating func closed(at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    guard case .modal = state, !tapMachine.isCovering else { return actions }
    fraction = 0
    visibilityChanged(at: now, &actions)
    unload(at: now, &actions)
    return actions
  }

  /// The user tapped the ad on screen.
  package mutating func tap(at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    guard !isStopping, effectiveFraction > 0, let ad = presentable else { return actions }
    append(tapMachine.tap(ad, at: now), at: now, &actions)
    return actions
  }

  /// The app's answer to `askShouldBegin` (D7).
  package mutating func decide(shouldBegin: Bool, at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    append(tapMachine.decide(shouldBegin: shouldBegin, at: now), at: now, &actions)
    visibilityChanged(at: now, &actions)
    stopIfIdle(at: now, &actions)
    return actions + advance(to: now)
  }

  /// Whether what covers the app came that `fetchCover` of this number asked for (D11). Without it the ad is worth
  /// nothing: it is given up.
  package mutating func coverFetched(_ succeeded: Bool, number: Int, at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    append(tapMachine.coverFetched(succeeded, number: number, at: now), at: now, &actions)
    visibilityChanged(at: now, &actions)
    stopIfIdle(at: now, &actions)
    return actions + advance(to: now)
  }

  /// The user closed what covered the app.
  package mutating func actionFinished(at now: MonotonicTime) -> [InterstitialAction] {
    actionEnded(.finished, at: now)
  }

  /// The user followed the covering ad into another application; the app's background follows (D8).
  package mutating func actionLeftApplication(at now: MonotonicTime) -> [InterstitialAction] {
    actionEnded(.leftApplication, at: now)
  }

  /// The app cancels the action: an interstitial's finish is not told (D9).
  package mutating func cancelAction(at now: MonotonicTime) -> [InterstitialAction] { actionEnded(.cancelled, at: now) }

  private mutating func actionEnded(_ end: TapStateMachine.End, at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    guard tapMachine.isActing else { return actions }
    append(tapMachine.end(end, at: now), isCancelled: end == .cancelled, at: now, &actions)
    visibilityChanged(at: now, &actions)
    stopIfIdle(at: now, &actions)
    return actions + advance(to: now)
  }

  /// The application went to the background: a covering action is uncovered and finished first (D8), and an ad on its
  /// way is given up as `applicationInactive`.
  package mutating func enteredBackground(at now: MonotonicTime) -> [InterstitialAction] {
    var actions = actionEnded(.finished, at: now)
    isActive = false
    visibilityChanged(at: now, &actions)
    switch state {
    case .asked: fail(.applicationInactive, about: .request(1), at: now, &actions)
    case .fetching(let ad, _): fail(.applicationInactive, about: .ad(ad), at: now, &actions)
    case .created, .loaded, .modal, .page, .finished: break
    }
    return actions + advance(to: now)
  }

  /// The application is in the foreground again.
  package mutating func enteredForeground(at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    isActive = true
    visibilityChanged(at: now, &actions)
    return actions
  }

  /// The app is done with the object. An action that runs goes on to its end first (D10).
  package mutating func stop(at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    isStopping = true
    stopIfIdle(at: now, &actions)
    return actions
  }

  /// The part of the ad that a person can see: none under a covering action or in the background.
  var effectiveFraction: Double { isActive && !tapMachine.isCovering ? fraction : 0 }

  mutating func stopIfIdle(at now: MonotonicTime, _ actions: inout [InterstitialAction]) {
    guard isStopping, !tapMachine.isBusy else { return }
    // Nobody will see it: it is told as such, so that it can be counted (D3).
    if case .fetching(let ad, _) = state { actions.append(.report(AdReport(.unloaded, .ad(ad), at: now))) }
    unload(at: now, &actions)
    state = .finished
  }

  private mutating func visibilityChanged(at now: MonotonicTime, _ actions: inout [InterstitialAction]) {
    guard let ad = presentable else { return }
    if effectiveFraction > 0, !wasRendered {
      wasRendered = true
      actions.append(.report(AdReport(.rendered, .ad(ad), at: now)))
    }
    reportView(viewability.fractionChanged(to: effectiveFraction, at: now), &actions)
  }

  mutating func reportView(_ seenAt: MonotonicTime?, _ actions: inout [InterstitialAction]) {
    guard let seenAt, let ad = presentable else { return }
    actions.append(.report(AdReport(.viewed, .ad(ad), at: seenAt)))
  }

  /// Turns the tap's outputs into the interstitial's; a cancelled action's finish is not told (D9).
  mutating func append(
    _ outputs: [TapStateMachine.Output], isCancelled: Bool = false, at now: MonotonicTime,
    _ actions: inout [InterstitialAction]
  ) {
    for output in outputs {
      switch output {
      case .askShouldBegin(let willLeave): actions.append(.askShouldBegin(willLeaveApplication: willLeave))
      case .fetchCover(let destination, let number):
        actions.append(.fetchCover(destination: destination, number: number))
      case .cover(let destination): actions.append(.cover(destination: destination))
      case .leaveApplication(let destination): actions.append(.leaveApplication(destination: destination))
      case .uncover:
        actions.append(.uncover)
        if !isCancelled { actions.append(.tell(.actionDidFinish)) }
      case .returned: if !isCancelled { actions.append(.tell(.actionDidFinish)) }
      case .failed(let error, let ad): fail(error, about: .ad(ad), at: now, &actions)
      case .report(let report): actions.append(.report(report))
      }
    }
  }
}
