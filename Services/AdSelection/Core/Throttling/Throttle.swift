package import AdCore

/// Refuses clients that ask too quickly (D2, D3, E2), by the keyed hash of the client id or, without one, the session
/// id. Time is that of arrivals, not of decisions: what came 30 s apart was asked 30 s apart, however late we were to look
/// at it. Memory is bounded: two generations of what was admitted, within what the process may remember; the older one is dropped
/// when the window has passed or there is no room left. So under a flood of clients it forgets early, and refuses too
/// little rather than too much.
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

  private struct Generation: Sendable {
    let start: Timestamp
    var lastRequest: [Pair: Timestamp] = [:]
    var windows: [UInt64: Window] = [:]
    let quota: RequestMemory.Quota

    init(start: Timestamp, of memory: RequestMemory) {
      self.start = start
      quota = RequestMemory.Quota(of: memory)
    }
  }

  package let limits: Limits
  private let memory: RequestMemory
  private var current: Generation
  private var previous: Generation

  /// - Parameter memory: of pairs of client and placement.
  package init(limits: Limits = Limits(), memory: RequestMemory = SelectionMemory().clients) {
    self.limits = limits
    self.memory = memory
    current = Generation(start: Timestamp(milliseconds: 0), of: memory)
    previous = Generation(start: Timestamp(milliseconds: 0), of: memory)
  }

  /// How many pairs are held.
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
    turnIfDue(now: moment)
    let pair = Pair(client: client, placement: placement)
    let last = current.lastRequest[pair] ?? previous.lastRequest[pair] ?? moment
    let start = windowStart(client, at: moment)
    var window = current.windows[client] ?? previous.windows[client] ?? Window(start: start, count: 0)
    if current.lastRequest[pair] == nil { makeRoom(at: moment) }
    current.lastRequest[pair] = max(moment, last)
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

  private mutating func turnIfDue(now: Timestamp) {
    let age = now.milliseconds(since: current.start)
    let span = max(limits.refreshMilliseconds, limits.windowMilliseconds)
    guard age >= span else { return }
    turn(at: now)
    // After a pause of two spans the newer generation is as stale as the older one.
    if age >= 2 * span { previous = Generation(start: now, of: memory) }
  }

  /// For one more pair. Where all partitions have taken what there is, this one forgets what it has: two turns leave
  /// nothing of it.
  private mutating func makeRoom(at moment: Timestamp) {
    var turns = 0
    while !current.quota.takeOne(), turns < 2 {
      turn(at: moment)
      turns += 1
    }
  }

  private mutating func turn(at moment: Timestamp) {
    previous = current
    current = Generation(start: moment, of: memory)
  }
}

extension Throttle {
  package static func == (left: Throttle, right: Throttle) -> Bool {
    func isSame(_ left: Generation, _ right: Generation) -> Bool {
      (left.start, left.lastRequest, left.windows) == (right.start, right.lastRequest, right.windows)
    }
    return left.limits == right.limits && isSame(left.current, right.current)
      && isSame(left.previous, right.previous)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(current.lastRequest) }
}
