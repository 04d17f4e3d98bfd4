package import AdCore

/// Why the ads considered for a request did not win: counted by the first reason that excluded each. With the winner and
/// those it outbid the counts add up to the candidates. Kept with the decision.
package struct Explanation: Hashable, Sendable {
  /// How many ads were considered: all of the catalogue.
  package var candidates: Int
  /// 1 where an ad won.
  package var winners: Int
  /// Eligible ads that were worth less, or as much and lost the draw.
  package var outbid: Int
  private var counts: [Int]

  /// No auction.
  package static let empty = Explanation(candidates: 0)

  package init(candidates: Int) {
    self.candidates = candidates
    winners = 0
    outbid = 0
    counts = []
  }

  /// How many candidates `reason` excluded.
  package subscript(reason: NoServeReason) -> Int {
    Int(reason.rawValue) < counts.count ? counts[Int(reason.rawValue)] : 0
  }

  /// The reasons that excluded a candidate, with how many, in the order of their numbers.
  package var excluded: [(reason: NoServeReason, candidates: Int)] {
    NoServeReason.allCases.compactMap { self[$0] > 0 ? ($0, self[$0]) : nil }
  }

  /// The sum of all counts: always ``candidates``.
  package var total: Int { winners + outbid + counts.reduce(0, +) }

  mutating func add(_ number: Int, _ reason: NoServeReason) {
    guard number > 0 else { return }
    if counts.isEmpty { counts = Array(repeating: 0, count: Explanation.slots) }
    counts[Int(reason.rawValue)] += number
  }

  private static let slots = 1 + Int(NoServeReason.allCases.map(\.rawValue).max() ?? 0)
}
