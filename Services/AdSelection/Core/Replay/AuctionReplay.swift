package import AdCore
internal import AdEvents

/// Holds the auctions of one partition again, each as it was: with the budgets that were at hand, and by the very rules
/// that decide requests. What a decision sold is used as its row tells it, whatever is decided here: so each answers for
/// itself, and a different winner changes no budget of the others.
package struct AuctionReplay {
  private var state: PartitionState
  /// Those that are to come, the last first.
  private var grants: [LoggedGrant] = []

  /// - Parameter funded: campaigns that are taken to have budget at hand always, whatever was granted.
  package init(funded: Set<CampaignID> = []) {
    state = PartitionState()
    for campaign in funded {
      // No allotment of billing's has the number 0, and no budget day is as far back.
      _ = state.allotments.apply(
        AllotmentGrant(
          allotment: 0, ordinal: 1, campaign: campaign, budgetDay: .min, amount: Nanos(.max),
          serveUntil: Timestamp(milliseconds: 1 << 50), clickRates: ClickRateBounds(others: 0)))
    }
  }

  /// Takes grants, which come into force at their places. Each is told once, and none before those that are in force.
  package mutating func expect(_ new: [LoggedGrant]) {
    grants = (grants + new).sorted { $1.place < $0.place }
  }

  /// Goes on to a place: what was granted before it is there.
  package mutating func turn(to place: BatchPlace, now: Timestamp) {
    while let next = grants.last, next.place < place {
      grants.removeLast()
      _ = state.allotments.apply(next.grant)
    }
    if state.allotments.isCloseDue(now: now) { _ = state.allotments.close(now: now) }
  }

  /// Notes what was used of an allotment.
  package mutating func note(_ amount: Nanos, of allotment: UInt64, campaign: CampaignID) {
    state.allotments.note(amount, of: allotment, campaign: campaign)
  }

  /// What the auction comes to in a catalogue, which need not be that of its time.
  package mutating func outcome(
    of auction: LoggedAuction, in catalog: CatalogSnapshot, rules: AuctionRules
  ) -> AuctionOutcome {
    let now = auction.serveID.timestamp
    var snapshot = catalog
    snapshot.turn(to: now)
    let app: App
    switch AppAdmission.judge(auction.request.app, build: .distribution, snapshot: snapshot) {
    case .refused(let reason, _): return AuctionOutcome(reason: reason)
    case .admitted(let admitted): app = admitted
    }
    let context = DecisionContext(
      snapshot: snapshot, freshness: CatalogFreshness.State(auction.paidAds), now: now, seed: rules.seed,
      serveIDRandom: (high: 0, low: 0))
    let result = LiveAuction.hold(auction.request, app: app, state: &state, context: context)
    return AuctionOutcome(reason: result.reason, fill: result.winner.map(AuctionOutcome.Fill.init))
  }
}

extension AuctionOutcome.Fill {
  fileprivate init(_ candidate: Candidate) {
    self.init(
      ad: candidate.ad.id, campaign: candidate.campaign, currency: candidate.currency,
      impressionPrice: candidate.impressionPrice, clickPrice: candidate.clickPrice,
      expectedValue: candidate.expectedValue)
  }
}

extension CatalogFreshness.State {
  fileprivate init(_ paidAds: PaidAdsState) {
    self =
      switch paidAds {
      case .served: .complete
      case .suspended: .withoutHeartbeat
      case .stopped: .stopped
      }
  }
}
