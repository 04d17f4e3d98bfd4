package import AdCore

/// Why the ads of each campaign did not win: how many by the first reason against each. What an ``Explanation`` says of all
/// ads together, asked ad by ad: it takes as long as there are ads, so it is for auctions that are held again.
package struct CampaignReasons: Hashable, Sendable {
  package private(set) var counts: [CampaignID: [NoServeReason: Int]] = [:]

  /// The rule at which the best ad of each campaign failed: no other of its ads came further in their order.
  package var nearest: [CampaignID: NoServeReason] {
    counts.compactMapValues { reasons in reasons.keys.max { CampaignReasons.rank($0) < CampaignReasons.rank($1) } }
  }

  /// How far an ad came that failed at a rule.
  package static func rank(_ reason: NoServeReason) -> Int { ranks[reason] ?? 0 }

  private static let ranks = Dictionary(
    uniqueKeysWithValues: AdEligibility.order.enumerated().map { ($1, $0) })

  init(
    _ request: AdEligibility.Request, app: App, paidAds: PaidAdsState, snapshot: CatalogSnapshot,
    canReserve: (Candidate) -> Bool
  ) {
    let profile = AdEligibility.AppProfile(app)
    for level in [snapshot.base, snapshot.recent] {
      for (position, candidate) in level.index.candidates.enumerated() {
        let standing = level.liveness.standing(of: position, in: level.index)
        guard standing != .gone else { continue }
        let reason: NoServeReason? =
          if let refusal = paidAds.refusal, !candidate.isHouse {
            refusal
          } else if case .stopped(let reason) = standing {
            reason
          } else if let reason = AdEligibility.reasonAgainst(candidate.subject, for: request, in: profile) {
            reason
          } else {
            candidate.isHouse || canReserve(candidate) ? nil : .noAllotment
          }
        if let reason { counts[candidate.campaign, default: [:]][reason, default: 0] += 1 }
      }
    }
  }
}
