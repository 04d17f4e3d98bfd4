package import AdCore

/// Refuses clients that ask too quickly (D2, D3, E2), by the keyed hash of the client id or, without one, the session
/// id. Time is that of arrivals, not of decisions: what came 30 s apart was asked 30 s apart, however late we were to look
/// at it. Memory is bounded: two generations of what was admitted, the older one dropped when the window has passed or the
/// newer one is full; under a flood of clients it forgets early, and so refuses too little rather than too much.
package struct Throttle: Hashable, Sendable {
  package struct Limits: Hashable, Sendable {
    /// Between two requests of one client and placement for a banner (D2), in milliseconds.
    package var refreshMilliseconds: Int64 = 30_000
    /// How much sooner a request may arrive than the client's clock meant it to, in milliseconds.
    package var jitterMilliseconds: Int64 = 1_000
    /// How many requests one client may make within a window, whatever their placements (D3).
    package var requestsPerWindow: Int = 10
    /// The length of the windows into which each client's time is cut, in milliseconds.
    package var windowMilliseconds: Int64 = 30_000
    /// The most (client, placement) pairs of one generation.
    package var pairsMaximum: Int = 500_000

    package init() {}
  }

  package enum Verdict: UInt8, Hashable, Sendable {
    case admitted = 0
    /// The same client and placement within the refresh time (D2).
    case tooSoon = 1
    /// Too many banners of one client at once (D3).
    case tooManyAtOnce = 2
  }

  private struct Pair: Hashable, Sendable {
    var client: UInt64
    var placement: PlacementID
  }

  private struct Window: Hashable, Sendable {
    var start: Timestamp
    var count: Int
  }

  private struct Generation: Hashable, Sendable {
    var start: Timestamp
    var lastRequest: [Pair: Timestamp] = [:]
    var windows: [UInt64: Window] = [:]
  }

  package let limits: Limits
  private var current = Generation(start: Timestamp(milliseconds: 0))
  private var previous = Generation(start: Timestamp(milliseconds: 0))

  package init(limits: Limits = Limits()) { self.limits = limits }

  /// How many pairs are held, at most twice ``Limits/pairsMaximum``.
  package var pairCount: Int { current.lastRequest.count + previous.lastRequest.count }

  /// Judges a request that came at `now`. Only an admitted one counts: a client that asks again and again is let through as often
  /// as one that keeps the rule. The refresh time is for banners; an interstitial has none.
  package mutating func admit(
    client: UInt64, placement: PlacementID, isInterstitial: Bool, now: Timestamp
  ) -> Verdict {
    let pair = Pair(client: client, placement: placement)
    let least = limits.refreshMilliseconds - limits.jitterMilliseconds
    if !isInterstitial, let last = current.lastRequest[pair] ?? previous.lastRequest[pair],
      now.milliseconds(since: last) < least
    {
      return .tooSoon
    }
    if let window = current.windows[client] ?? previous.windows[client], window.start == windowStart(client, at: now),
      window.count >= limits.requestsPerWindow
    {
      return .tooManyAtOnce
    }
    note(client: client, placement: placement, at: now)
    return .admitted
  }

  /// Counts a request without judging it: to rebuild the state from recent decisions. In whatever order they come, the
  /// latest counts.
  package mutating func note(client: UInt64, placement: PlacementID, at moment: Timestamp) {
    turn(now: moment)
    let pair = Pair(client: client, placement: placement)
    current.lastRequest[pair] = max(moment, current.lastRequest[pair] ?? previous.lastRequest[pair] ?? moment)
    let start = windowStart(client, at: moment)
    var window = current.windows[client] ?? previous.windows[client] ?? Window(start: start, count: 0)
    if window.start > start { return }
    if window.start < start { window = Window(start: start, count: 0) }
    window.count += 1
    current.windows[client] = window
  }

  /// Windows lie where the clock and the client say, not where its first request was: so they are the same after a
  /// restart, which knows recent requests only. Each client has its own, or all would be let through at one moment.
  private func windowStart(_ client: UInt64, at moment: Timestamp) -> Timestamp {
    let length = max(1, limits.windowMilliseconds)
    let phase = Int64(client % UInt64(length))
    let into = (moment.milliseconds &+ phase) % length
    return moment.advanced(byMilliseconds: into < 0 ? -into - length : -into)
  }

  private mutating func turn(now: Timestamp) {
    let age = now.milliseconds(since: current.start)
    let span = max(limits.refreshMilliseconds, limits.windowMilliseconds)
    guard age >= span || current.lastRequest.count >= max(1, limits.pairsMaximum) else { return }
    // After a pause of two spans the newer generation is as stale as the older one.
    previous = age >= 2 * span ? Generation(start: now) : current
    current = Generation(start: now)
  }
}
