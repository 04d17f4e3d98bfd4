internal import AdCore

/// Which ads of an ``AdIndex`` are live: neither paused, nor outside their flight, nor gone. What changes here are single
/// bits; the index and what is remembered of it stay.
struct Liveness: Sendable {
  /// How an ad stands.
  enum Standing: Hashable, Sendable {
    case live
    /// One of the rules that ask for no request keeps it from being served.
    case stopped(NoServeReason)
    /// Deleted, or replaced by a newer version elsewhere: no candidate any more.
    case gone
  }

  /// A change of one ad.
  struct Flip: Sendable {
    let position: Int
    let old: Standing
    let new: Standing
  }

  /// So many of the last flips are known, for whoever wants to follow.
  private static let flipsMaximum = 64

  private(set) var live: AdSet
  private var gone: AdSet
  private var paused: AdSet
  /// Ads that are live or stopped, by reason.
  private(set) var tally: ReasonTally
  /// How many flips there were.
  private(set) var version = 0
  private var flips: [Flip] = []
  /// How many of the index's flight edges have passed.
  private var passedEdges: Int
  private var now: Timestamp

  init(_ index: AdIndex, now: Timestamp) {
    self.now = now
    let candidates = index.candidates
    gone = AdSet(capacity: candidates.count)
    paused = AdSet(capacity: candidates.count) { candidates[$0].isPaused }
    live = AdSet(capacity: candidates.count)
    tally = ReasonTally()
    passedEdges = index.flightEdges.count { $0.at <= now }
    for position in candidates.indices { note(standing(position, index, at: now), at: position, index) }
  }

  private func standing(_ position: Int, _ index: AdIndex, at now: Timestamp) -> Standing {
    if gone.contains(position) { return .gone }
    let reason = index.candidates[position].reasonAgainst(isPaused: paused.contains(position), now: now)
    return reason.map(Standing.stopped) ?? .live
  }

  /// How an ad stands now.
  func standing(of position: Int, in index: AdIndex) -> Standing { standing(position, index, at: now) }

  private mutating func note(_ standing: Standing, at position: Int, _ index: AdIndex) {
    live.set(position, to: standing == .live)
    tally.add(1, standing, isHouse: index.isHouse(position))
  }

  private mutating func flip(_ position: Int, _ index: AdIndex, from old: Standing, to new: Standing) {
    guard new != old else { return }
    tally.add(-1, old, isHouse: index.isHouse(position))
    note(new, at: position, index)
    if flips.count == Liveness.flipsMaximum { flips.removeFirst(Liveness.flipsMaximum / 2) }
    flips.append(Flip(position: position, old: old, new: new))
    version += 1
  }

  /// - Parameter isGone: nil for as it is.
  mutating func set(_ position: Int, isPaused: Bool, isGone: Bool?, in index: AdIndex) {
    let old = standing(position, index, at: now)
    paused.set(position, to: isPaused)
    if let isGone { gone.set(position, to: isGone) }
    flip(position, index, from: old, to: standing(position, index, at: now))
  }

  /// Whether no flight has begun or ended between the moment it is true for and `now`.
  func isCurrent(at now: Timestamp, in index: AdIndex) -> Bool {
    let edges = index.flightEdges
    return (passedEdges == 0 || edges[passedEdges - 1].at <= now)
      && (passedEdges == edges.count || now < edges[passedEdges].at)
  }

  /// Makes it true at `now`, whichever way the clock went.
  mutating func turn(to now: Timestamp, in index: AdIndex) {
    let edges = index.flightEdges
    while passedEdges < edges.count, edges[passedEdges].at <= now {
      pass(edges[passedEdges], index, isBackward: false)
      passedEdges += 1
    }
    while passedEdges > 0, edges[passedEdges - 1].at > now {
      passedEdges -= 1
      pass(edges[passedEdges], index, isBackward: true)
    }
    self.now = now
  }

  private mutating func pass(_ edge: AdIndex.FlightEdge, _ index: AdIndex, isBackward: Bool) {
    let position = Int(edge.position)
    let before = standing(position, index, at: edge.at.advanced(byMilliseconds: -1))
    let after = standing(position, index, at: edge.at)
    flip(position, index, from: isBackward ? after : before, to: isBackward ? before : after)
  }

  /// What has changed since there had been `version` flips; nil where that is not known any more, or was never so.
  func flips(since version: Int) -> ArraySlice<Flip>? {
    let count = self.version - version
    return (0...flips.count).contains(count) ? flips.suffix(count) : nil
  }
}

/// Ads counted by the first reason against them, all of them and house ads. Those that nothing is against count under no
/// reason. Thousands of these are remembered, and all decisions look at one: what can be told from these two is not kept.
struct ReasonTally: Hashable, Sendable {
  private(set) var all = ReasonCounts()
  private(set) var house = ReasonCounts()

  /// How many paid ads nothing is against.
  var paidWithoutReason: Int32 { all[nil] - house[nil] }
  /// How many paid ads there are.
  var paidTotal: Int32 { all.total - house.total }

  mutating func add(_ number: Int32, against reason: NoServeReason?, isHouse: Bool) {
    all[reason] += number
    if isHouse { house[reason] += number }
  }

  mutating func add(_ number: Int32, _ standing: Liveness.Standing, isHouse: Bool) {
    switch standing {
    case .live: add(number, against: nil, isHouse: isHouse)
    case .stopped(let reason): add(number, against: reason, isHouse: isHouse)
    case .gone: break
    }
  }
}

/// A number for each reason, and one for none; without memory of its own, so that adding all of them costs next to
/// nothing.
struct ReasonCounts: Hashable, Sendable {
  private var counts = SIMD32<Int32>()

  subscript(reason: NoServeReason?) -> Int32 {
    get { counts[ReasonCounts.slot(reason)] }
    set { counts[ReasonCounts.slot(reason)] = newValue }
  }

  /// The numbers of reasons begin with 1.
  private static func slot(_ reason: NoServeReason?) -> Int { Int(reason?.rawValue ?? 0) }

  static func + (left: ReasonCounts, right: ReasonCounts) -> ReasonCounts {
    var sum = left
    sum.counts &+= right.counts
    return sum
  }

  var total: Int32 { counts.wrappedSum() }
}
