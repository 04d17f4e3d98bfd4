package import AdCore

/// What ad selection keeps in memory for one partition and its decisions change.
package struct PartitionState: Hashable, Sendable {
  package var allotments: AllotmentBook
  package var throttle: Throttle
  package var recent: RecentRequests
  package var testSequence: TestSequence
  package var placements = PlacementNames()
  package var requests = AppRequests()
  /// The ads that ``allotments`` can pay for, as of the last auction; none before the first.
  private(set) var sellable = SellableLevels.none

  package init(
    allotments: AllotmentBook = AllotmentBook(), throttle: Throttle = Throttle(),
    recent: RecentRequests = RecentRequests(), testSequence: TestSequence = TestSequence()
  ) {
    self.allotments = allotments
    self.throttle = throttle
    self.recent = recent
    self.testSequence = testSequence
  }
}

extension PartitionState {
  /// Goes on to what could be sold at `now`: ``sellable`` says it then.
  mutating func followAllotments(of snapshot: CatalogSnapshot, now: Timestamp) {
    allotments.turn(to: now)
    sellable.follow(snapshot, &allotments)
  }
}

/// What a decision depends on besides the request and the partition's state.
package struct DecisionContext: Sendable {
  package var snapshot: CatalogSnapshot
  package var freshness: CatalogFreshness.State
  package var now: Timestamp
  /// For tie-breaks, and for test ads.
  package var seed: UInt64
  /// 74 bits of it make the serve id unguessable.
  package var serveIDRandom: (high: UInt64, low: UInt64)
  package var windows: Windows
  /// What was decided under the request's id before; nil where nothing was.
  package var earlier: EarlierDecision?
  /// How many live requests of an app this partition answers with ads in an hour (B8).
  package var appRequestsMaximum = Int64.max

  package init(
    snapshot: CatalogSnapshot, freshness: CatalogFreshness.State, now: Timestamp, seed: UInt64,
    serveIDRandom: (high: UInt64, low: UInt64), windows: Windows = Windows()
  ) {
    self.snapshot = snapshot
    self.freshness = freshness
    self.now = now
    self.seed = seed
    self.serveIDRandom = serveIDRandom
    self.windows = windows
  }

  /// That of what is decided now.
  package var serveID: ServeID {
    ServeID(timestamp: now, randomHigh: serveIDRandom.high, randomLow: serveIDRandom.low)
  }
}
