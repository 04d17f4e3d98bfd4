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

  /// Chooses an ad; what that uses of an allotment is for the caller to use. Where there is none, the reason says why.
  package static func hold(
    _ request: Request, app: RegisteredApp, state: inout PartitionState, context: DecisionContext
  ) -> Result {
    guard context.snapshot.settings?.isServed(request.country) ?? false else {
      return Result(reason: .countryNotServed, explanation: .empty)
    }
    let query = AdQuery(
      AdEligibility.Request(
        country: request.country, device: request.device, requiredSizes: request.requiredSizes,
        segments: request.segments),
      in: app.appClass)
    let paidAds = context.freshness.paidAds
    let result = Auction.run(
      query, requestID: request.requestID, state: &state, arePaidAdsSuspended: paidAds != .served, context: context)
    let winner = result.winner.map { context.snapshot.candidate(at: $0) }
    return Result(
      reason: winner.map { $0.isHouse ? .servedHouse : .served } ?? reason(result.explanation, paidAds),
      winner: winner, explanation: result.explanation)
  }

  /// Why nobody won.
  private static func reason(_ explanation: Explanation, _ paidAds: PaidAdsState) -> DecisionReason {
    if explanation[.paidAdsSuspended] > 0 { return paidAds == .stopped ? .paidAdsStopped : .paidAdsSuspended }
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
