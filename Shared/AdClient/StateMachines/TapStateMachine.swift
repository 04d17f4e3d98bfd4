internal import AdBasics

/// One tap from the question to the app to the end of its action (D7, D8, D9, M7); banners and interstitials share it.
package struct TapStateMachine: Sendable {
  private enum State {
    /// No action. → `asking` on a tap.
    case idle
    /// The app is asked whether the action should begin (D7). → `idle` when it says no, or when the action leaves the
    /// application; → `opening` when it covers.
    case asking(AdContent, tappedAt: MonotonicTime)
    /// The app said yes, and what covers is being fetched (D11). → `covering` when it came; → `idle` when it did not, did
    /// not in time, or the action was ended before.
    case opening(AdContent, tappedAt: MonotonicTime, since: MonotonicTime)
    /// The action covers the app. → `idle` at its end: finished, cancelled, or the app went to the background.
    case covering(AdContent, tappedAt: MonotonicTime, beganAt: MonotonicTime, isClickTold: Bool)
  }

  /// How a covering action ends.
  package enum End: Hashable, Sendable {
    /// The user closed it, or the app goes to the background and uncovers first (D8).
    case finished
    /// The user followed it into another application.
    case leftApplication
    /// The app cancelled it (D9).
    case cancelled
  }

  package enum Output: Hashable, Sendable {
    case askShouldBegin(willLeaveApplication: Bool)
    /// Fetch what covers; whether it came is told with the same number.
    case fetchCover(destination: String, number: Int)
    case cover(destination: String)
    case leaveApplication(destination: String)
    case uncover
    /// The action is over before anything covered the app.
    case returned
    /// What covers could not be had (8), or not in time (10).
    case failed(AdError, AdContent)
    case report(AdReport)
  }

  var timing: AdTiming
  private var state = State.idle
  private var lastCoverNumber = 0

  package init(timing: AdTiming) { self.timing = timing }

  /// True from the tap until the end of its action.
  package var isBusy: Bool { if case .idle = state { false } else { true } }

  /// True while an action covers the app.
  package var isCovering: Bool { if case .covering = state { true } else { false } }

  /// True from the app's yes to the end of the action.
  package var isActing: Bool {
    switch state {
    case .opening, .covering: true
    case .idle, .asking: false
    }
  }

  /// When `advance(to:)` is due; nil when nothing is.
  package var nextWake: MonotonicTime? {
    switch state {
    case .opening(_, _, let since): since.advanced(byMilliseconds: timing.coverPendingMilliseconds)
    case .covering(_, _, let beganAt, isClickTold: false):
      beganAt.advanced(byMilliseconds: timing.clickCompleteMilliseconds)
    case .idle, .asking, .covering: nil
    }
  }

  /// Tells the click once its action has lasted long enough (M7), and gives up what covers when it has not come (E10).
  package mutating func advance(to now: MonotonicTime) -> [Output] {
    if let due = nextWake, due <= now, case .opening(let content, let tappedAt, _) = state {
      return coverFailed(.adAssetLoadPending, content, tappedAt)
    }
    guard let due = nextWake, due <= now, case .covering(let content, let tappedAt, let beganAt, _) = state else {
      return []
    }
    state = .covering(content, tappedAt: tappedAt, beganAt: beganAt, isClickTold: true)
    let lasted = due.milliseconds(since: beganAt)
    return [.report(TapStateMachine.click(content, tappedAt, lasted: lasted, left: false))]
  }

  /// The user tapped the ad. A tap while another's action runs does nothing.
  package mutating func tap(_ content: AdContent, at now: MonotonicTime) -> [Output] {
    guard case .idle = state else { return [] }
    state = .asking(content, tappedAt: now)
    return [.askShouldBegin(willLeaveApplication: content.action.kind == .leave)]
  }

  /// The app's answer to `askShouldBegin`; no delegate means yes (D7).
  package mutating func decide(shouldBegin: Bool, at now: MonotonicTime) -> [Output] {
    guard case .asking(let content, let tappedAt) = state else { return [] }
    guard shouldBegin else {
      state = .idle
      return [.report(AdReport(.blocked, .ad(content), at: tappedAt))]
    }
    switch content.action.kind {
    case .cover:
      state = .opening(content, tappedAt: tappedAt, since: now)
      lastCoverNumber += 1
      return [.fetchCover(destination: content.action.destination, number: lastCoverNumber)]
    case .leave:
      state = .idle
      return [
        .leaveApplication(destination: content.action.destination),
        .report(TapStateMachine.click(content, tappedAt, lasted: 0, left: true)),
      ]
    }
  }

  /// Whether what covers came that `fetchCover` of this number asked for.
  package mutating func coverFetched(_ succeeded: Bool, number: Int, at now: MonotonicTime) -> [Output] {
    let outputs = advance(to: now)
    guard number == lastCoverNumber, case .opening(let content, let tappedAt, _) = state else { return outputs }
    guard succeeded else { return outputs + coverFailed(.assetLoadFailure, content, tappedAt) }
    state = .covering(content, tappedAt: tappedAt, beganAt: now, isClickTold: false)
    return outputs + [.cover(destination: content.action.destination)]
  }

  /// A click whose action showed nothing is an accidental one (M7).
  private mutating func coverFailed(_ error: AdError, _ content: AdContent, _ tappedAt: MonotonicTime) -> [Output] {
    state = .idle
    return [
      .report(TapStateMachine.click(content, tappedAt, lasted: 0, left: false)), .returned, .failed(error, content),
    ]
  }

  /// Ends an action; nothing when none runs. Whether the app is told is its caller's business (D9).
  package mutating func end(_ end: End, at now: MonotonicTime) -> [Output] {
    var outputs = advance(to: now)
    // The ad is gone before the app has answered: there is nothing to begin.
    if case .asking = state { state = .idle }
    if case .opening(let content, let tappedAt, _) = state {
      state = .idle
      outputs += [.report(TapStateMachine.click(content, tappedAt, lasted: 0, left: false)), .returned]
      if end == .cancelled {
        outputs.append(.report(AdReport(.cancelled(actionMilliseconds: 0), .ad(content), at: tappedAt)))
      }
      return outputs
    }
    guard case .covering(let content, let tappedAt, let beganAt, let isClickTold) = state else { return outputs }
    state = .idle
    let lasted = max(0, now.milliseconds(since: beganAt))
    outputs.append(.uncover)
    if !isClickTold {
      outputs.append(
        .report(TapStateMachine.click(content, tappedAt, lasted: lasted, left: end == .leftApplication)))
    }
    if end == .cancelled {
      outputs.append(.report(AdReport(.cancelled(actionMilliseconds: lasted), .ad(content), at: tappedAt)))
    }
    return outputs
  }

  private static func click(
    _ content: AdContent, _ tappedAt: MonotonicTime, lasted: Int64, left: Bool
  ) -> AdReport {
    AdReport(.click(actionMilliseconds: lasted, leftApplication: left), .ad(content), at: tappedAt)
  }
}
