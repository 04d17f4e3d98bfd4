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

  package enum Admission: UInt8, Hashable, Sendable {
    case admitted = 0
    /// The same client and placement within the refresh time (D2).
    case tooSoon = 1
    /// Too many banners of one client at once (D3).
    case tooManyAtOnce = 2
  }

  private struct Window: Hashable, Sendable {
    var start: Timestamp
    var count: Int
  }

  /// What is held of a client, found at one look.
  private struct Client: Hashable, Sendable {
    var window: Window
    /// Most clients have one placement: it lies here.
    private let placement: PlacementID
    private var lastRequest: Timestamp
    /// The last requests at its other placements; nil for none.
    private var others: [PlacementID: Timestamp]?

    init(_ placement: PlacementID, at moment: Timestamp, window: Window) {
      (self.placement, lastRequest, self.window) = (placement, moment, window)
    }

    /// Of client and placement.
    var pairCount: Int { 1 + (others?.count ?? 0) }

    func lastRequest(at placement: PlacementID) -> Timestamp? {
      placement == self.placement ? lastRequest : others?[placement]
    }

    /// In whatever order requests are noted, the latest counts.
    mutating func note(_ placement: PlacementID, at moment: Timestamp) {
      if placement == self.placement {
        lastRequest = max(moment, lastRequest)
      } else {
        var others = others ?? [:]
        others[placement] = max(moment, others[placement] ?? moment)
        self.others = others
      }
    }

    /// Without the other placements' requests up to `moment`, of which nothing follows any more.
    func forgetting(until moment: Timestamp) -> Client {
      guard let others else { return self }
      var client = self
      client.others = others.filter { $0.value > moment }
      return client
    }
  }

  private struct Generation: Sendable {
    let start: Timestamp
    var clients: [UInt64: Client] = [:]
    var pairCount = 0
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
  var pairCount: Int { current.pairCount + previous.pairCount }

  /// Judges a request that came at `now`. Only an admitted one counts: a client that asks again and again is let through as often
  /// as one that keeps the rule. The refresh time is for banners; an interstitial has none.
  package mutating func admit(
    client: UInt64, placement: PlacementID, isInterstitial: Bool, now: Timestamp
  ) -> Admission {
    turnIfDue(now: now)
    let held = current.clients[client] ?? previous.clients[client]
    let least = limits.refreshMilliseconds - limits.jitterMilliseconds
    if !isInterstitial, let last = held?.lastRequest(at: placement), now.milliseconds(since: last) < least {
      return .tooSoon
    }
    if let window = held?.window, window.start == windowStart(client, at: now),
      window.count >= limits.requestsPerWindow
    {
      return .tooManyAtOnce
    }
    note(client, placement, at: now)
    return .admitted
  }

  /// Counts a request without judging it: to rebuild the state from recent decisions. In whatever order they come, the
  /// latest counts.
  package mutating func note(client: UInt64, placement: PlacementID, at moment: Timestamp) {
    turnIfDue(now: moment)
    note(client, placement, at: moment)
  }

  private mutating func note(_ client: UInt64, _ placement: PlacementID, at moment: Timestamp) {
    let known = current.clients[client]
    let start = windowStart(client, at: moment)
    var held =
      known ?? previous.clients[client]?.forgetting(until: moment.advanced(byMilliseconds: -span))
      ?? Client(placement, at: moment, window: Window(start: start, count: 0))
    held.note(placement, at: moment)
    if held.window.start < start { held.window = Window(start: start, count: 0) }
    if held.window.start == start { held.window.count += 1 }
    for _ in (known?.pairCount ?? 0)..<held.pairCount { makeRoom(at: moment) }
    current.clients[client] = held
  }

  /// Windows lie where the clock and the client say, not where its first request was: so they are the same after a
  /// restart, which knows recent requests only. Each client has its own, or all would be let through at one moment.
  private func windowStart(_ client: UInt64, at moment: Timestamp) -> Timestamp {
    let length = max(1, limits.windowMilliseconds)
    let phase = Int64(client % UInt64(length))
    let into = (moment.milliseconds &+ phase) % length
    return moment.advanced(byMilliseconds: into < 0 ? -into - length : -into)
  }

  /// How long what was admitted matters, in milliseconds.
  private var span: Int64 { max(limits.refreshMilliseconds, limits.windowMilliseconds) }

  private mutating func turnIfDue(now: Timestamp) {
    let age = now.milliseconds(since: current.start)
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
    current.pairCount += 1
  }

  private mutating func turn(at moment: Timestamp) {
    previous = current
    current = Generation(start: moment, of: memory)
  }
}

extension Throttle {
  package static func == (left: Throttle, right: Throttle) -> Bool {
    func isSame(_ left: Generation, _ right: Generation) -> Bool {
      (left.start, left.clients) == (right.start, right.clients)
    }
    return left.limits == right.limits && isSame(left.current, right.current)
      && isSame(left.previous, right.previous)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(current.clients) }
}
