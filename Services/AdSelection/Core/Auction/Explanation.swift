package import AdCore

/// Why the ads considered for a request did not win: counted by the first reason that excluded each. With the winner and
/// those it outbid the counts add up to the candidates. Kept with the decision.
package struct Explanation: Hashable, Sendable {
  /// How many ads were considered: all of the catalogue.
  package var candidates: Int
  /// 1 where an ad won.
  package var winners: Int
  /// Eligible ads that were worth less, or as much and lost the tie-break.
  package var outbid: Int
  private var counts = ReasonCounts()

  /// No auction.
  package static let empty = Explanation(candidates: 0)

  package init(candidates: Int) {
    self.candidates = candidates
    winners = 0
    outbid = 0
  }

  /// How many candidates `reason` excluded.
  package subscript(reason: NoServeReason) -> Int { Int(counts[reason]) }

  /// The reasons that excluded a candidate, with how many, in the order of their numbers.
  package var excluded: [(reason: NoServeReason, candidates: Int)] {
    NoServeReason.allCases.compactMap { self[$0] > 0 ? ($0, self[$0]) : nil }
  }

  /// The sum of all counts: always ``candidates``.
  var total: Int { winners + outbid + Int(counts.total) }
}

extension Explanation {
  /// Of an auction over ads with `counts`, of which those that nothing is against are either without an allotment or
  /// could be sold.
  init(_ counts: ReasonCounts, withoutAllotment: Int, hasWinner: Bool) {
    self.init(candidates: Int(counts.total))
    winners = hasWinner ? 1 : 0
    outbid = Int(counts[nil]) - withoutAllotment - winners
    self.counts = counts
    self.counts[nil] = 0
    self.counts[.noAllotment] = Int32(truncatingIfNeeded: withoutAllotment)
  }
}
