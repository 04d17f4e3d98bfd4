package import AdCore

/// The auction for a live request: what catalogue, budgets and billing circuit breaker decide of it, when all that the
/// request itself is judged by is over. It is all that has to be known to hold it again.
package enum LiveAuction {
  /// What an auction needs to know of a request.
  package struct Request: Hashable, Sendable {
    package var requestID: UUIDv7
    package var app: AppID
    package var country: Country
    package var device: Device
    /// Resolved, none empty (S4).
    package var requiredSizes: [AdSize]
    package var segments: [String]

    package init(
      requestID: UUIDv7, app: AppID, country: Country, device: Device, requiredSizes: [AdSize], segments: [String]
    ) {
      self.requestID = requestID
      self.app = app
      self.country = country
      self.device = device
      self.requiredSizes = requiredSizes
      self.segments = segments
    }
  }

  package struct Result: Sendable {
    package var reason: DecisionReason
    /// Nil where no ad is served.
    package var winner: Candidate?
    package var explanation: Explanation
  }

  /// Whether the auction for a request may choose paid ads: what stops them for everybody prevails; else the app's standing
  /// decides, by a hash of the request's id (A7).
  package static func paidAds(for requestID: UUIDv7, of app: RegisteredApp, in context: DecisionContext) -> PaidAdsState
  {
    let paidAds = context.freshness.paidAds
    guard paidAds == .served, let standing = app.standing else { return paidAds }
    return standing.withholds(requestID, seed: context.seed) ? .withheld : .served
  }

  /// Chooses an ad; what that uses of an allotment is for the caller to use. Where there is none, the reason says why.
  package static func hold(
    _ request: Request, app: RegisteredApp, paidAds: PaidAdsState, state: inout PartitionState, context: DecisionContext
  ) -> Result {
    guard context.snapshot.settings?.isServed(request.country) ?? false else {
      return Result(reason: .countryNotServed, explanation: .empty)
    }
    let query = AdQuery(
      AdEligibility.Request(
        country: request.country, device: request.device, requiredSizes: request.requiredSizes,
        segments: request.segments),
      in: app.appClass)
    let result = Auction.run(query, requestID: request.requestID, state: &state, paidAds: paidAds, context: context)
    let winner = result.winner.map { context.snapshot.candidate(at: $0) }
    return Result(
      reason: winner.map { $0.isHouse ? .servedHouse : .served } ?? reason(result.explanation, paidAds),
      winner: winner, explanation: result.explanation)
  }

  /// Why nobody won.
  private static func reason(_ explanation: Explanation, _ paidAds: PaidAdsState) -> DecisionReason {
    if let refusal = paidAds.refusal, explanation[refusal] > 0 { return paidAds.reason }
    return explanation[.noAllotment] > 0 ? .noAllotment : .noEligibleAd
  }
}

/// What went into a live auction besides the request's own row, budgets and settings: with them it can be held again.
package struct AuctionInputs: Hashable, Sendable {
  /// The last change of the catalogue that was held; nil where that was the catalogue of no one moment.
  package var catalogChange: Int64?
  package var paidAds: PaidAdsState
  package var requiredSizes: [AdSize]
  package var segments: [String]
  package var isInterstitial: Bool
}

extension PaidAdsState {
  /// Why a request got no ad that might have got a paid one.
  fileprivate var reason: DecisionReason {
    switch self {
    case .served: .noEligibleAd
    case .suspended: .paidAdsSuspended
    case .stopped: .paidAdsStopped
    case .withheld: .paidAdsWithheld
    }
  }
}

extension AppStanding {
  /// Tells this hash from the tie-break's, which is of the same id.
  private static let hashNumber: UInt64 = 7

  /// Whether a request gets no paid ad: as many do as the offer lacks, and always the same ones.
  package func withholds(_ requestID: UUIDv7, seed: UInt64) -> Bool {
    var hash = SeededHash(seed: seed)
    hash.combine(AppStanding.hashNumber)
    hash.combine(requestID)
    return Int64(hash.finalized() % UInt64(AppStanding.whole)) >= offerPartsPerMillion
  }
}

extension CatalogFreshness.State {
  /// Whether an auction may choose paid ads. While the catalogue is incomplete there is none.
  package var paidAds: PaidAdsState {
    switch self {
    case .complete, .incomplete: .served
    case .withoutHeartbeat: .suspended
    case .stopped: .stopped
    }
  }
}
