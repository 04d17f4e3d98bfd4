/// Decides when one ad has been seen (M1): enough of its pixels on screen, for long enough, without a break.
package struct ViewabilityStateMachine: Sendable {
  private enum State {
    /// Too few pixels on screen. → `visible` when there are enough.
    case hidden
    /// Enough pixels since this moment. → `hidden` when they become too few before the time is over;
    /// → `viewed` when it is over.
    case visible(since: MonotonicTime)
    /// Seen, once and for all: an ad counts one impression however often it is paged past (M4). No way out.
    case viewed
  }

  private let timing: AdTiming
  private var state = State.hidden

  package init(timing: AdTiming) { self.timing = timing }

  /// When `advance(to:)` is due; nil when nothing is.
  package var nextWake: MonotonicTime? {
    guard case .visible(let since) = state else { return nil }
    return since.advanced(byMilliseconds: timing.viewableMilliseconds)
  }

  /// Takes the time that has passed with the present fraction; returns the moment of the impression if it came.
  package mutating func advance(to now: MonotonicTime) -> MonotonicTime? {
    guard let seen = nextWake, seen <= now else { return nil }
    state = .viewed
    return seen
  }

  /// Takes a change of the fraction on screen, 0 to 1; returns the moment of the impression if the time until now
  /// completed it.
  package mutating func fractionChanged(to fraction: Double, at now: MonotonicTime) -> MonotonicTime? {
    let seen = advance(to: now)
    switch (state, fraction >= timing.viewableFraction) {
    case (.hidden, true): state = .visible(since: now)
    case (.visible, false): state = .hidden
    case (.hidden, false), (.visible, true), (.viewed, _): break
    }
    return seen
  }
}
