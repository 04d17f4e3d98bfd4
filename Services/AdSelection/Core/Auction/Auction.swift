package import AdCore

/// The choice among the eligible ads.
package enum Auction {
  package struct Result: Hashable, Sendable {
    /// The winner's position in ``CatalogSnapshot/candidates``; nil if nothing could be served.
    package var winner: Int?
    package var explanation: Explanation
  }

  /// Chooses the ad with the highest expected value that has an allotment; house ads, which need none, only where no paid
  /// ad is left. Among equals a hash of seed, request id and ad decides: the same request in the same state gets the
  /// same ad.
  package static func run(
    _ request: AdEligibility.Request, in app: App, requestID: UUIDv7, allotments: AllotmentBook,
    arePaidAdsSuspended: Bool, context: DecisionContext
  ) -> Result {
    let (snapshot, now) = (context.snapshot, context.now)
    var explanation = Explanation(candidates: snapshot.candidates.count)
    let eligible = Eligibility.eligible(
      for: request, in: app, of: snapshot, arePaidAdsSuspended: arePaidAdsSuspended, now: now,
      explanation: &explanation)
    var best: (position: Int, draw: UInt64)?
    var withoutAllotment = 0
    // Positions come by falling value, so the first that can be served wins but for its equals.
    eligible.visit { position in
      let candidate = snapshot.candidates[position]
      if let best, !candidate.ties(with: snapshot.candidates[best.position]) { return false }
      guard candidate.kind == .house || allotments.canReserve(for: candidate, now: now) else {
        withoutAllotment += 1
        return true
      }
      let draw = Auction.draw(seed: context.seed, requestID: requestID, ad: candidate.ad.id)
      if draw >= best?.draw ?? 0 { best = (position, draw) }
      return true
    }
    explanation.add(withoutAllotment, .noAllotment)
    if best != nil {
      explanation.winners = 1
      explanation.outbid = eligible.count - withoutAllotment - 1
    }
    return Result(winner: best?.position, explanation: explanation)
  }

  private static func draw(seed: UInt64, requestID: UUIDv7, ad: AdID) -> UInt64 {
    var hash = SeededHash(seed: seed)
    hash.combine(requestID)
    hash.combine(ad.text)
    return hash.finalized()
  }
}

extension AllotmentBook {
  func canReserve(for candidate: Candidate, now: Timestamp) -> Bool {
    canReserve(campaign: candidate.campaign, price: candidate.price, now: now)
  }

  mutating func reserve(for candidate: Candidate, now: Timestamp) -> Reservation? {
    reserve(campaign: candidate.campaign, price: candidate.price, now: now)
  }
}
