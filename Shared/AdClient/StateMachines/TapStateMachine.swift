internal import AdCore

/// One tap from the question to the app to the end of its action (D7, D8, D9, M7); banners and interstitials share it.
package struct TapStateMachine: Sendable {
  private enum State {
    /// No action. → `asking` on a tap.
    case idle
    /// The app is asked whether the action should begin (D7). → `idle` when it says no, or when the action leaves the
    /// application; → `covering` when it covers.
    case asking(AdContent, tappedAt: MonotonicTime)
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
    case cover(destination: String)
    case leaveApplication(destination: String)
    case uncover
    case report(AdReport)
  }

  private let timing: AdTiming
  private var state = State.idle

  package init(timing: AdTiming) { self.timing = timing }

  /// True from the tap until the end of its action.
  package var isBusy: Bool { if case .idle = state { false } else { true } }

  /// True while an action covers the app.
  package var isCovering: Bool { if case .covering = state { true } else { false } }

  /// When `advance(to:)` is due; nil when nothing is.
  package var nextWake: MonotonicTime? {
    guard case .covering(_, _, let beganAt, isClickTold: false) = state else { return nil }
    return beganAt.advanced(byMilliseconds: timing.clickCompleteMilliseconds)
  }

  /// Tells the click once its action has lasted long enough (M7).
  package mutating func advance(to now: MonotonicTime) -> [Output] {
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
      state = .covering(content, tappedAt: tappedAt, beganAt: now, isClickTold: false)
      return [.cover(destination: content.action.destination)]
    case .leave:
      state = .idle
      return [
        .leaveApplication(destination: content.action.destination),
        .report(TapStateMachine.click(content, tappedAt, lasted: 0, left: true)),
      ]
    }
  }

  /// Ends a covering action; nothing when none runs. Whether the app is told is its caller's business (D9).
  package mutating func end(_ end: End, at now: MonotonicTime) -> [Output] {
    var outputs = advance(to: now)
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
