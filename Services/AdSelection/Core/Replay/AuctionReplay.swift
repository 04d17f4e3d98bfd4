package import AdCore
internal import AdEvents

/// Holds the auctions of one partition again, each as it was: with the budgets that were at hand, and by the very rules
/// that decide requests. What a decision sold is used as its row tells it, whatever is decided here: so each answers for
/// itself, and a different winner changes no budget of the others.
package struct AuctionReplay {
  /// How far a clock may go back.
  private static let clockErrorMillisecondsMaximum: Int64 = 60_000

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
    grants = (grants + new).sorted { $1.index < $0.index }
  }

  /// Goes on to a record: what was granted before it is there.
  package mutating func turn(to index: BatchIndex, now: Timestamp) {
    while let next = grants.last, next.index < index {
      grants.removeLast()
      _ = state.allotments.apply(next.grant)
    }
    // Not at once: until it is closed an allotment whose end has come is open again where a clock goes back.
    let ended = now.advanced(byMilliseconds: -AuctionReplay.clockErrorMillisecondsMaximum)
    if state.allotments.isCloseDue(now: ended) { _ = state.allotments.close(now: ended) }
  }

  /// Notes what was used of an allotment.
  package mutating func note(_ amount: Nanos, of allotment: UInt64, campaign: CampaignID) {
    state.allotments.note(amount, of: allotment, campaign: campaign)
  }

  /// Why the ads of each campaign did not win, had they a chance or not; nil where none was asked, because the network or
  /// the app has no ads there.
  package func reasons(against auction: LoggedAuction, in snapshot: CatalogSnapshot) -> CampaignReasons? {
    let now = auction.serveID.timestamp
    let request = auction.request
    guard let app = snapshot.apps[request.app], snapshot.settings?.isServed(request.country) ?? false else {
      return nil
    }
    return CampaignReasons(
      AdEligibility.Request(
        country: request.country, device: request.device, requiredSizes: request.requiredSizes,
        segments: request.segments), app: app.app, paidAds: auction.paidAds, snapshot: snapshot
    ) { state.allotments.canReserve(campaign: $0.campaign, price: $0.price, now: now) }
  }

  /// What the auction comes to in a catalogue that is true for its time, and need not be the one that there was.
  package mutating func outcome(
    of auction: LoggedAuction, in snapshot: CatalogSnapshot, rules: AuctionRules
  ) -> AuctionOutcome {
    let now = auction.serveID.timestamp
    let app: RegisteredApp
    switch AppAdmission.judge(auction.request.app, build: .distribution, snapshot: snapshot) {
    case .refused(let reason, _): return AuctionOutcome(reason: reason)
    case .admitted(let admitted): app = admitted
    }
    let context = DecisionContext(
      snapshot: snapshot, freshness: .complete, now: now, seed: rules.seed, serveIDRandom: (high: 0, low: 0))
    let result = LiveAuction.hold(
      auction.request, app: app, paidAds: auction.paidAds, state: &state, context: context)
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
