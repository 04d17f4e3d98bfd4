package import AdBasics

/// The life of one full-screen ad (D1, D5 to D11, M1, M4, M7, S5, S6). Each input returns what is to be done, in
/// order; the host calls `advance(to:)` at `nextWake`. Nothing here reads a clock.
package struct InterstitialStateMachine: Sendable {
  enum State {
    /// Made. → `asked` at the start; → `finished` on a phone (S5), while the same place loads another (D5), or while
    /// the application is inactive.
    case created
    /// The network was asked. → `fetching` when an ad came; → `finished` on an error.
    case asked
    /// The images are being fetched. → `loaded` when they came; → `finished` on an error, or when they do not in time.
    case fetching(AdContent, until: MonotonicTime)
    /// Ready. → `modal` or `page` when presented; → `finished` when it expires.
    case loaded(AdContent, expiresAt: MonotonicTime)
    /// It covers the app until the user closes it, whatever time that takes. → `finished` then.
    case modal(AdContent)
    /// In the app's view. → `finished` when it expires off screen, or goes off screen after it expired.
    case page(AdContent, expiresAt: MonotonicTime)
    /// Its content is gone (D5). No way out.
    case finished
  }

  var timing: AdTiming
  /// The one or two sizes the app turns to (S9).
  let requiredSizes: [AdSize]
  var state = State.created
  var tapMachine: TapStateMachine
  var viewability: ViewabilityStateMachine
  /// The part of the ad on screen, 0 to 1.
  var fraction = 0.0
  var isActive = true
  var wasRendered = false
  /// The app let go while an action ran: the end comes after it (D10).
  var isStopping = false

  package init(requiredSizes: [AdSize], timing: AdTiming = AdTiming()) {
    self.timing = timing
    self.requiredSizes = requiredSizes
    tapMachine = TapStateMachine(timing: timing)
    viewability = ViewabilityStateMachine(timing: timing)
  }

  /// True from `didLoad` to `didUnload` (D6).
  package var isLoaded: Bool {
    switch state {
    case .loaded, .modal, .page: true
    case .created, .asked, .fetching, .finished: false
    }
  }

  /// True while the network is asked or images are fetched: the place is taken (D5).
  package var isLoading: Bool {
    switch state {
    case .asked, .fetching: true
    case .created, .loaded, .modal, .page, .finished: false
    }
  }

  /// True from a tap to the end of its action.
  package var isActionInProgress: Bool { tapMachine.isBusy }

  /// True once the object is finished.
  package var isFinished: Bool { if case .finished = state { true } else { false } }

  /// When `advance(to:)` is due; nil when nothing is.
  package var nextWake: MonotonicTime? {
    [viewability.nextWake, tapMachine.nextWake, imagesDue, expiryDue].compactMap { $0 }.min()
  }

  /// Does what has become due by `now`, in the order it became due.
  package mutating func advance(to now: MonotonicTime) -> [InterstitialAction] {
    var actions: [InterstitialAction] = []
    while let due = nextWake, due <= now {
      if viewability.nextWake == due {
        reportView(viewability.advance(to: due), &actions)
      } else if tapMachine.nextWake == due {
        append(tapMachine.advance(to: due), at: due, &actions)
        stopIfIdle(at: due, &actions)
      } else if imagesDue == due, case .fetching(let ad, _) = state {
        fail(.assetLoadFailure, about: .ad(ad), at: now, &actions)
      } else {
        unload(at: now, &actions)
      }
    }
    return actions
  }

  /// Starts the one load of this object (D5). `isAnotherLoading` says that another loads for the same placement.
  package mutating func start(device: Device, isAnotherLoading: Bool, at now: MonotonicTime) -> [InterstitialAction] {
    guard case .created = state else { return [] }
    guard device == .pad, !isAnotherLoading, isActive else {
      state = .finished
      let failure =
        device != .pad
        ? AdFailure(.configurationError, detail: "S5: a full-screen ad is for pads only")
        : isAnotherLoading
          ? AdFailure(.loadingThrottled, detail: "D5: another ad loads for this place")
          : AdFailure(.applicationInactive)
      return [.tell(.didFail(failure))]
    }
    state = .asked
    return [.request]
  }

  /// What came of the request. An answer that comes after the object was finished changes nothing.
  package mutating func answered(_ result: RequestResult, at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    guard case .asked = state else {
      if case .ad(let ad) = result { actions.append(.report(AdReport(.unloaded, .ad(ad), at: now))) }
      return actions
    }
    switch result {
    case .ad(let ad)
    where ad.isValid(for: requiredSizes, at: now)
      && AdContent.interstitialLifetimeMilliseconds.contains(ad.lifetimeMilliseconds):
      state = .fetching(ad, until: now.advanced(byMilliseconds: timing.imagesMilliseconds))
      actions += [.tell(.willLoad), .fetchImages(ad)]
    case .ad, .invalid: fail(.adResponseValidateFailure, about: .request(1), at: now, &actions)
    case .noAnswer: fail(.serverFailure, about: .request(1), at: now, &actions)
    case .error(let error, let detail): fail(error, detail: detail, about: nil, at: now, &actions)
    case .unavailable(let error, let detail, let pause):
      fail(error, detail: detail, pause: pause, about: .request(1), at: now, &actions)
    }
    return actions
  }

  /// Whether the images came that `fetchImages` asked for.
  package mutating func imagesFetched(_ succeeded: Bool, at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    guard case .fetching(let ad, _) = state else { return actions }
    // Its life may have ended meanwhile.
    if succeeded, ad.isValid(for: requiredSizes, at: now) {
      state = .loaded(ad, expiresAt: now.advanced(byMilliseconds: ad.lifetimeMilliseconds))
      timing = timing.following(ad.pacing)
      tapMachine.timing = timing
      viewability = ViewabilityStateMachine(timing: timing)
      actions.append(.tell(.didLoad))
    } else {
      fail(succeeded ? .adResponseValidateFailure : .assetLoadFailure, about: .ad(ad), at: now, &actions)
    }
    return actions
  }

  /// The system is short of memory (T10): an ad that nobody sees and that does not act (D10) is unloaded, and one on its
  /// way is given up.
  package mutating func memoryWarning(at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    switch state {
    case .fetching(let ad, _): fail(.adUnloaded, about: .ad(ad), at: now, &actions)
    case .loaded: unload(at: now, &actions)
    case .page where effectiveFraction == 0 && !tapMachine.isBusy: unload(at: now, &actions)
    case .created, .asked, .modal, .page, .finished: break
    }
    return actions
  }

  /// The ad can no longer be drawn: `didFail`, then `didUnload` (D5).
  package mutating func failed(_ error: AdError, at now: MonotonicTime) -> [InterstitialAction] {
    var actions = advance(to: now)
    guard let ad = presentable else { return actions }
    fail(error, about: .ad(ad), at: now, &actions)
    return actions
  }

  /// The ad in hand, once loaded.
  var presentable: AdContent? {
    switch state {
    case .loaded(let ad, _), .modal(let ad), .page(let ad, _): ad
    case .created, .asked, .fetching, .finished: nil
    }
  }

  /// When the images have not come in time.
  var imagesDue: MonotonicTime? { if case .fetching(_, let until) = state { until } else { nil } }

  /// When the content's life ends: not while it is modal, and a page's not while a person sees it (D5) or its action
  /// runs (D10).
  var expiryDue: MonotonicTime? {
    switch state {
    case .loaded(_, let expiresAt): expiresAt
    case .page(_, let expiresAt): effectiveFraction == 0 && !tapMachine.isBusy ? expiresAt : nil
    case .created, .asked, .fetching, .modal, .finished: nil
    }
  }

  /// Tells an error first, then unloads what was loaded (D5).
  mutating func fail(
    _ error: AdError, detail: String = "", pause: Int64? = nil, about subject: AdReport.Subject?,
    at now: MonotonicTime, _ actions: inout [InterstitialAction]
  ) {
    let pause = pause ?? (error == .loadingThrottled ? timing.refreshMilliseconds : nil)
    actions.append(.tell(.didFail(AdFailure(error, detail: detail, retryAfterMilliseconds: pause))))
    if let subject { actions.append(.report(AdReport(.failed(error), subject, at: now))) }
    if case .fetching(let ad, _) = state { actions.append(.report(AdReport(.unloaded, .ad(ad), at: now))) }
    unload(at: now, &actions)
    state = .finished
  }

  mutating func unload(at now: MonotonicTime, _ actions: inout [InterstitialAction]) {
    guard let ad = presentable else { return }
    append(tapMachine.end(.finished, at: now), at: now, &actions)
    if case .loaded = state {} else { actions.append(.remove) }
    state = .finished
    fraction = 0
    viewability = ViewabilityStateMachine(timing: timing)
    actions += [.tell(.didUnload), .report(AdReport(.unloaded, .ad(ad), at: now))]
  }
}
