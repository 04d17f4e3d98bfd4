package import AdCore

/// The choice among the eligible ads.
package enum Auction {
  package struct Result: Hashable, Sendable {
    /// Nil if nothing could be served.
    package var winner: AdPosition?
    package var explanation: Explanation
  }

  /// Chooses the ad with the highest expected value that has an allotment; house ads, which need none, only where no paid
  /// ad is left. Of its equals, in the order of their ids, a hash of seed and request id chooses one: the same request in the
  /// same state gets the same ad, in whichever index it lies.
  package static func run(
    _ query: AdQuery, requestID: UUIDv7, state: inout PartitionState, paidAds: PaidAdsState, context: DecisionContext
  ) -> Result {
    state.followAllotments(of: context.snapshot, now: context.now)
    let base = Offer(query, context.snapshot.base, state.sellable.base, paidAds)
    guard !context.snapshot.recent.index.candidates.isEmpty else { return run(base, requestID, context) }
    let recent = Offer(query, context.snapshot.recent, state.sellable.recent, paidAds)
    return run(base, recent, requestID, context)
  }

  /// Of one level.
  private static func run(_ offer: Offer, _ requestID: UUIDv7, _ context: DecisionContext) -> Result {
    let counts = offer.counts
    guard let best = offer.best else { return nothing(counts) }
    let equals = offer.equals(from: best)
    let count = offer.sellableCount(in: equals)
    let number = tieBreak(among: count, seed: context.seed, requestID: requestID)
    let position = number == 0 ? best : offer.sellable(number, in: equals)
    return Result(
      winner: position.map { AdPosition(isRecent: false, index: $0) },
      explanation: Explanation(
        counts, withoutAllotment: offer.offeredCount(before: equals.upperBound) - count, hasWinner: true))
  }

  /// Of both levels.
  private static func run(_ base: Offer, _ recent: Offer, _ requestID: UUIDv7, _ context: DecisionContext) -> Result {
    let counts = base.counts + recent.counts
    let (inBase, inRecent) = (base.best, recent.best)
    let worths = [inBase.map { base.index.candidates[$0].worth }, inRecent.map { recent.index.candidates[$0].worth }]
    guard let worth = worths.compactMap(\.self).max() else { return nothing(counts) }
    let equals = (base: base.equals(of: worth, from: inBase), recent: recent.equals(of: worth, from: inRecent))
    let count = base.sellableCount(in: equals.base) + recent.sellableCount(in: equals.recent)
    // Before the first that can be sold none can.
    let withoutAllotment =
      base.offeredCount(before: equals.base.upperBound) + recent.offeredCount(before: equals.recent.upperBound) - count
    let number = tieBreak(among: count, seed: context.seed, requestID: requestID)
    return Result(
      winner: position(
        number, of: base, in: equals.base, and: recent, in: equals.recent, ranks: context.snapshot.recentRanks),
      explanation: Explanation(counts, withoutAllotment: withoutAllotment, hasWinner: true))
  }

  private static func nothing(_ counts: ReasonCounts) -> Result {
    Result(winner: nil, explanation: Explanation(counts, withoutAllotment: Int(counts[nil]), hasWinner: false))
  }

  /// A number below `count`, as the request's id will have it.
  private static func tieBreak(among count: Int, seed: UInt64, requestID: UUIDv7) -> Int {
    guard count > 1 else { return 0 }
    var hash = SeededHash(seed: seed)
    hash.combine(requestID)
    return Int(hash.finalized() % UInt64(count))
  }

  /// The position of the `number`th of the equals of both levels, in the order of their ids.
  private static func position(
    _ number: Int, of base: Offer, in equals: Range<Int>, and recent: Offer, in recentEquals: Range<Int>,
    ranks: [Int32]
  ) -> AdPosition? {
    var left = number
    var (rest, next) = (equals, recentEquals)
    while let position = recent.sellable(0, in: next) {
      let rank = max(rest.lowerBound, Int(ranks[position]))
      let before = base.sellableCount(in: rest.lowerBound..<rank)
      if left < before { break }
      if left == before { return AdPosition(isRecent: true, index: position) }
      left -= before + 1
      rest = rank..<max(rank, rest.upperBound)
      next = position + 1..<next.upperBound
    }
    return base.sellable(left, in: rest).map { AdPosition(isRecent: false, index: $0) }
  }
}
