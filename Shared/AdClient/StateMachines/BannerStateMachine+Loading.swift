internal import AdBasics

/// Asking, loading and losing ads (D1 to D4).
extension BannerStateMachine {
  /// What came of the request of this number. An answer to a request that was given up changes nothing.
  package mutating func answered(
    _ result: RequestResult, number: Int, at now: MonotonicTime
  ) -> [BannerAction] {
    var actions = advance(to: now)
    guard case .asked(number: number) = load else {
      // An ad that nobody will see is told as such, so that it can be counted (D3).
      if case .ad(let ad) = result { report(.unloaded, .ad(ad), at: now, &actions) }
      return actions
    }
    switch result {
    case .ad(let ad) where ad.isValid(for: sizes.required, at: now):
      load = .fetching(ad, number: number, until: now.advanced(byMilliseconds: timing.imagesMilliseconds))
      if let asked = ad.pacing?.refreshMilliseconds, asked > timing.refreshMilliseconds {
        askAt = max(askAt, now.advanced(byMilliseconds: timing.following(ad.pacing).refreshMilliseconds))
      }
      actions += [.tell(.willLoad), .fetchImages(ad, number: number)]
    case .ad, .invalid: fail(.adResponseValidateFailure, about: .request(number), at: now, &actions)
    case .noAnswer: fail(.serverFailure, about: .request(number), at: now, &actions)
    // The network counts the errors that it sends itself.
    case .error(let error, let detail): fail(error, detail: detail, about: nil, at: now, &actions)
    case .unavailable(let error, let detail, let pause):
      askAt = max(askAt, now.advanced(byMilliseconds: pause))
      fail(error, detail: detail, about: .request(number), at: now, &actions)
    }
    return actions + advance(to: now)
  }

  /// Whether the images came that `fetchImages` of this number asked for.
  package mutating func imagesFetched(
    _ succeeded: Bool, number: Int, at now: MonotonicTime
  ) -> [BannerAction] {
    var actions = advance(to: now)
    guard case .fetching(let ad, number: number, _) = load else { return actions }
    // Its life may have ended meanwhile.
    guard succeeded, ad.isValid(for: sizes.required, at: now) else {
      fail(succeeded ? .adResponseValidateFailure : .assetLoadFailure, about: .ad(ad), at: now, &actions)
      return actions
    }
    load = .idle
    retryMilliseconds = timing.firstRetryMilliseconds
    emptyVisibleAt = nil
    unloadContent(at: now, &actions)
    content = .loaded(ad, expiresAt: now.advanced(byMilliseconds: ad.lifetimeMilliseconds), wasShown: false)
    follow(ad.pacing)
    viewability = ViewabilityStateMachine(timing: timing)
    actions += [.show(ad, size: currentSize), .tell(.didLoad)]
    visibilityChanged(isExcused: true, at: now, &actions)
    return actions + advance(to: now)
  }

  /// The part of the ad that a person can see: none under a covering action or in the background.
  var effectiveFraction: Double { isActive && !tapMachine.isCovering ? fraction : 0 }

  /// When the next request is due. A banner that holds an ad nobody sees asks for no other (D3).
  var requestDue: MonotonicTime? {
    guard life == .inUse, isActive, case .idle = load, !tapMachine.isBusy else { return nil }
    return !isLoaded || fraction > 0 ? askAt : nil
  }

  /// When an ad's images have not come in time.
  var imagesDue: MonotonicTime? { if case .fetching(_, _, let until) = load { until } else { nil } }

  mutating func imagesAreLate(at now: MonotonicTime, _ actions: inout [BannerAction]) {
    guard case .fetching(let ad, _, _) = load else { return }
    fail(.assetLoadFailure, about: .ad(ad), at: now, &actions)
  }

  /// When a hidden ad's life ends; one on screen stays until the next replaces it.
  var expiryDue: MonotonicTime? {
    guard case .loaded(_, let expiresAt, _) = content, effectiveFraction == 0, !tapMachine.isBusy else { return nil }
    return expiresAt
  }

  mutating func ask(at now: MonotonicTime, _ actions: inout [BannerAction]) {
    lastRequestNumber += 1
    load = .asked(number: lastRequestNumber)
    askAt = now.advanced(byMilliseconds: timing.refreshMilliseconds)
    actions.append(.request(number: lastRequestNumber))
  }

  /// Tells an error, drops the content and waits longer than the last time (D2). `subject` is whom the network is to
  /// be told about; nil when it knows already.
  mutating func fail(
    _ error: AdError, detail: String = "", about subject: AdReport.Subject?, at now: MonotonicTime,
    _ actions: inout [BannerAction]
  ) {
    if let subject { report(.failed(error), subject, at: now, &actions) }
    giveUpLoad(at: now, &actions)
    askAt = max(askAt, now.advanced(byMilliseconds: retryMilliseconds))
    let last = timing.lastRetryMilliseconds
    retryMilliseconds = retryMilliseconds > last / 2 ? last : retryMilliseconds * 2
    if isLoaded {
      unloadContent(at: now, &actions)
      actions.append(.clear)
    }
    content = .empty(isToldToHide: true)
    let pause = life == .inUse ? max(0, askAt.milliseconds(since: now)) : nil
    actions.append(.tell(.didFail(AdFailure(error, detail: detail, retryAfterMilliseconds: pause))))
    emptyVisibleAt = emptyVisibleDue(at: now)
  }

  /// Gives up what is under way. Its answer, which may come later, is told as unloaded (D3).
  mutating func giveUpLoad(at now: MonotonicTime, _ actions: inout [BannerAction]) {
    if case .fetching(let ad, _, _) = load { report(.unloaded, .ad(ad), at: now, &actions) }
    load = .idle
  }

  /// Follows a change of what is on screen: impressions (M1), brief displays (D12), empty banners (D4).
  mutating func visibilityChanged(isExcused: Bool, at now: MonotonicTime, _ actions: inout [BannerAction]) {
    guard case .loaded(let ad, let expiresAt, let wasShown) = content else {
      emptyVisibleAt = emptyVisibleDue(at: now)
      return
    }
    let visible = effectiveFraction
    if visible > 0, !wasShown {
      content = .loaded(ad, expiresAt: expiresAt, wasShown: true)
      askAt = max(askAt, now.advanced(byMilliseconds: timing.refreshMilliseconds))
      report(.rendered, .ad(ad), at: now, &actions)
    }
    reportView(viewability.fractionChanged(to: visible, at: now), &actions)
    let isShown = isActive && fraction > 0
    if isShown {
      shownSince = shownSince ?? now
    } else if let since = shownSince {
      shownSince = nil
      let milliseconds = now.milliseconds(since: since)
      if !isExcused, milliseconds < timing.minimumDisplayMilliseconds {
        actions.append(.noteBriefDisplay(milliseconds: milliseconds))
      }
    }
  }

  /// When the next D4 warning is due: only after a `didFail` is an empty banner on screen the app's mistake.
  private func emptyVisibleDue(at now: MonotonicTime) -> MonotonicTime? {
    guard case .empty(isToldToHide: true) = content, isActive, fraction > 0, life == .inUse else { return nil }
    return emptyVisibleAt ?? now.advanced(byMilliseconds: max(1, timing.emptyVisibleMilliseconds))
  }

  mutating func reportView(_ seenAt: MonotonicTime?, _ actions: inout [BannerAction]) {
    guard let seenAt, case .loaded(let ad, _, _) = content else { return }
    report(.viewed, .ad(ad), at: seenAt, &actions)
  }

  mutating func unloadContent(at now: MonotonicTime, _ actions: inout [BannerAction]) {
    guard case .loaded(let ad, _, _) = content else { return }
    content = .empty(isToldToHide: false)
    shownSince = nil
    viewability = ViewabilityStateMachine(timing: timing)
    report(.unloaded, .ad(ad), at: now, &actions)
  }

  mutating func endLifeIfIdle(at now: MonotonicTime, _ actions: inout [BannerAction]) {
    guard life == .ending, !tapMachine.isBusy else { return }
    life = .ended
    giveUpLoad(at: now, &actions)
    emptyVisibleAt = nil
    unloadContent(at: now, &actions)
    actions.append(.clear)
  }

  func report(
    _ kind: AdReport.Kind, _ subject: AdReport.Subject, at moment: MonotonicTime, _ actions: inout [BannerAction]
  ) {
    actions.append(.report(AdReport(kind, subject, at: moment)))
  }
}
