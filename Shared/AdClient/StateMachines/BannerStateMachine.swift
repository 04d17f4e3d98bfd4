internal import AdBasics

/// The life of a banner (D1 to D4, D7 to D12, M1, M7, S4). Each input returns what is to be done, in order; the host
/// calls `advance(to:)` at `nextWake`. Nothing here reads a clock.
package struct BannerStateMachine: Sendable {
  /// What the banner has to show.
  enum Content {
    /// Nothing; `isToldToHide` once a `didFail` told the app so. → `loaded` when an ad's images are there.
    case empty(isToldToHide: Bool)
    /// An ad. → `loaded` with the next one; → `empty` on an error, at the end of its life while it is hidden, or when
    /// the banner ends.
    case loaded(AdContent, expiresAt: MonotonicTime, wasShown: Bool)
  }

  /// The way to the next ad.
  enum Load {
    /// Nothing under way. → `asked` when the time has come.
    case idle
    /// The network was asked. → `fetching` when an ad came; → `idle` on an error.
    case asked(number: Int)
    /// The ad's images are being fetched. → `idle`, with content if they came, with an error if not, or not in time.
    case fetching(AdContent, number: Int, until: MonotonicTime)
  }

  /// Whether the app wants this banner.
  enum Life {
    /// It asks by itself. → `away` when it is taken off the screen; → `ending` or `ended` when the app is done with it.
    case inUse
    /// Taken off the screen: it asks for nothing (D3). → `inUse` when put back; → `ending`, `ended` as above.
    case away
    /// The app is done with it, but an action still runs and its end must be told (D10). → `ended` at that end.
    case ending
    /// Nothing is told or asked any more. No way out.
    case ended
  }

  /// The figures that it was made with, and those of the last ad's answer.
  private let ownTiming: AdTiming
  var timing: AdTiming
  var sizes: BannerSizes.Resolved
  var content = Content.empty(isToldToHide: false)
  var load = Load.idle
  var life = Life.inUse
  var tapMachine: TapStateMachine
  var viewability: ViewabilityStateMachine
  /// The part of the banner on screen as the app tells it, 0 to 1.
  var fraction = 0.0
  var isActive = true
  /// Since when the app has shown the banner with an ad, for D12.
  var shownSince: MonotonicTime?
  /// Before this moment nothing is asked (D2).
  var askAt: MonotonicTime
  var retryMilliseconds: Int64
  /// When the app is to be told that it shows an empty banner (D4); set once a `didFail` told it to hide it.
  var emptyVisibleAt: MonotonicTime?
  /// The request that the network was last told D4 of: it counts that once for each.
  private var emptyVisibleNumber: Int?
  var lastRequestNumber = 0

  /// A banner that asks for its first ad at `firstAskAt`.
  init(sizes: BannerSizes.Resolved, timing: AdTiming = AdTiming(), firstAskAt: MonotonicTime) {
    ownTiming = timing
    self.timing = timing
    self.sizes = sizes
    tapMachine = TapStateMachine(timing: timing)
    viewability = ViewabilityStateMachine(timing: timing)
    askAt = firstAskAt
    retryMilliseconds = timing.firstRetryMilliseconds
  }

  /// Goes by what an ad's answer says.
  mutating func follow(_ pacing: AdPacing?) {
    timing = ownTiming.following(pacing)
    tapMachine.timing = timing
  }

  /// The size that is drawn.
  var currentSize: AdSize { sizes.current }

  /// True when there is an ad to show.
  package var isLoaded: Bool { if case .loaded = content { true } else { false } }

  /// The ad that there is to show.
  package var loadedAd: AdContent? { if case .loaded(let ad, _, _) = content { ad } else { nil } }

  /// True from a tap to the end of its action.
  package var isActionInProgress: Bool { tapMachine.isBusy }

  /// True once nothing more will happen.
  package var isEnded: Bool { life == .ended }

  /// When `advance(to:)` is due; nil when nothing is.
  package var nextWake: MonotonicTime? {
    [viewability.nextWake, tapMachine.nextWake, emptyVisibleAt, imagesDue, expiryDue, requestDue]
      .compactMap { $0 }.min()
  }

  /// Does what has become due by `now`, in the order it became due.
  package mutating func advance(to now: MonotonicTime) -> [BannerAction] {
    var actions: [BannerAction] = []
    // Each round moves one due moment away. A late host may owe several D4 warnings: it is told once, and the next
    // counts from now on.
    while let due = nextWake, due <= now {
      if viewability.nextWake == due {
        reportView(viewability.advance(to: due), &actions)
      } else if tapMachine.nextWake == due {
        tapIsDue(at: due, &actions)
      } else if emptyVisibleAt == due {
        tellEmptyVisible(at: now, &actions)
      } else if imagesDue == due {
        imagesAreLate(at: now, &actions)
      } else if expiryDue == due {
        fail(.adUnloaded, about: nil, at: now, &actions)
      } else {
        ask(at: now, &actions)
      }
    }
    return actions
  }

  /// D4: the app is told again and again, the network once for each request.
  private mutating func tellEmptyVisible(at now: MonotonicTime, _ actions: inout [BannerAction]) {
    emptyVisibleAt = now.advanced(byMilliseconds: max(1, timing.emptyVisibleMilliseconds))
    actions.append(.tell(.didFail(AdFailure(.bannerVisibleWithoutContent))))
    guard emptyVisibleNumber != lastRequestNumber else { return }
    emptyVisibleNumber = lastRequestNumber
    report(.failed(.bannerVisibleWithoutContent), .request(lastRequestNumber), at: now, &actions)
  }

  /// The app shows `fraction` of the banner (0 to 1). `userNavigated` says that it went out of sight because the user
  /// went to another screen, which excuses a short display (D12).
  package mutating func visibleFractionChanged(
    to fraction: Double, userNavigated: Bool = false, at now: MonotonicTime
  ) -> [BannerAction] {
    var actions = advance(to: now)
    guard life == .inUse || life == .ending else { return actions }
    // A fraction that is no number shows nothing.
    self.fraction = fraction > 0 ? min(fraction, 1) : 0
    visibilityChanged(isExcused: userNavigated, at: now, &actions)
    return actions + advance(to: now)
  }

  /// The app turned its interface, which shows the same ad's other image, no request and no impression (S4); or it can
  /// show other sizes from now on: then an ad that lacks one of them is given up, and what is under way is as well.
  mutating func sizesChanged(to sizes: BannerSizes.Resolved, at now: MonotonicTime) -> [BannerAction] {
    var actions = advance(to: now)
    guard life != .ended, sizes != self.sizes else { return actions }
    let areOthersRequired = Set(sizes.required) != Set(self.sizes.required)
    self.sizes = sizes
    if areOthersRequired { giveUpLoad(at: now, &actions) }
    guard case .loaded(let ad, _, _) = content else { return actions + advance(to: now) }
    if sizes.required.allSatisfy({ ad.images[$0] != nil }) || tapMachine.isBusy {
      // An ad that acts lives on (D10); it shows what it has.
      if ad.images[sizes.current] != nil { actions.append(.show(ad, size: sizes.current)) }
    } else {
      fail(.adUnloaded, about: nil, at: now, &actions)
    }
    return actions + advance(to: now)
  }

  /// The system is short of memory (T4): an ad that nobody sees and that does not act (D10) is given up, and so is one
  /// whose images are being fetched.
  mutating func memoryWarning(at now: MonotonicTime) -> [BannerAction] {
    var actions = advance(to: now)
    guard life != .ended else { return actions }
    if case .fetching = load { giveUpLoad(at: now, &actions) }
    if isLoaded, effectiveFraction == 0, !tapMachine.isBusy { fail(.adUnloaded, about: nil, at: now, &actions) }
    return actions + advance(to: now)
  }

  /// The banner leaves the app's interface for a while: it stops asking (D3).
  package mutating func putAway(at now: MonotonicTime) -> [BannerAction] {
    var actions = visibleFractionChanged(to: 0, userNavigated: true, at: now)
    if life == .inUse { life = .away }
    actions += advance(to: now)
    return actions
  }

  /// The banner is part of the app's interface again.
  package mutating func putBack(at now: MonotonicTime) -> [BannerAction] {
    var actions = advance(to: now)
    if life == .away { life = .inUse }
    actions += advance(to: now)
    return actions
  }

  /// The application went to the background: a covering action is uncovered and finished first (D8), and an ad on its
  /// way is given up as `applicationInactive`.
  package mutating func enteredBackground(at now: MonotonicTime) -> [BannerAction] {
    var actions = advance(to: now)
    endAction(.finished, at: now, &actions)
    guard isActive, life != .ended else { return actions }
    isActive = false
    visibilityChanged(isExcused: true, at: now, &actions)
    switch load {
    case .idle: break
    case .asked(let number): fail(.applicationInactive, about: .request(number), at: now, &actions)
    case .fetching(let ad, _, _): fail(.applicationInactive, about: .ad(ad), at: now, &actions)
    }
    return actions
  }

  /// The application is in the foreground again: the cycle goes on.
  package mutating func enteredForeground(at now: MonotonicTime) -> [BannerAction] {
    var actions = advance(to: now)
    isActive = true
    visibilityChanged(isExcused: true, at: now, &actions)
    return actions + advance(to: now)
  }

  /// The app is done with the banner. An action that runs goes on to its end first (D10).
  package mutating func stop(at now: MonotonicTime) -> [BannerAction] {
    var actions = advance(to: now)
    guard life != .ended else { return actions }
    life = .ending
    endLifeIfIdle(at: now, &actions)
    return actions
  }
}
