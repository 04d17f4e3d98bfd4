package import AdCore
package import AdEvents

/// What an auction came to: the ad and its prices, or why there was none.
package struct AuctionOutcome: Hashable, Sendable {
  /// An ad that was chosen.
  package struct Fill: Hashable, Sendable {
    package var ad: AdID
    package var campaign: CampaignID
    package var currency: Currency
    package var impressionPrice: Nanos
    package var clickPrice: Nanos
    /// What the impression is expected to bring, in millionths of a nano of the network's own unit.
    package var expectedValue: Int128

    package init(
      ad: AdID, campaign: CampaignID, currency: Currency, impressionPrice: Nanos, clickPrice: Nanos,
      expectedValue: Int128
    ) {
      self.ad = ad
      self.campaign = campaign
      self.currency = currency
      self.impressionPrice = impressionPrice
      self.clickPrice = clickPrice
      self.expectedValue = expectedValue
    }
  }

  package var reason: DecisionReason
  /// Nil where no ad was chosen.
  package var fill: Fill?

  package init(reason: DecisionReason, fill: Fill? = nil) {
    self.reason = reason
    self.fill = fill
  }
}

/// The auction of a live decision, as the decision's row tells it.
package struct LoggedAuction: Hashable, Sendable {
  /// Its time is the decision's.
  package var serveID: ServeID
  package var index: BatchIndex
  package var request: LiveAuction.Request
  package var paidAds: PaidAdsState
  package var outcome: AuctionOutcome

  package init(
    serveID: ServeID, index: BatchIndex, request: LiveAuction.Request, paidAds: PaidAdsState, outcome: AuctionOutcome
  ) {
    self.serveID = serveID
    self.index = index
    self.request = request
    self.paidAds = paidAds
    self.outcome = outcome
  }
}

/// Where in a partition's history something was decided.
package struct BatchIndex: Hashable, Comparable, Sendable {
  package var batch: Int64
  package var index: Int32

  package init(batch: Int64, index: Int32) {
    self.batch = batch
    self.index = index
  }

  package static func < (left: BatchIndex, right: BatchIndex) -> Bool {
    (left.batch, left.index) < (right.batch, right.index)
  }
}

/// An allotment as its row tells of its beginning, with where it was granted.
package struct LoggedGrant: Hashable, Sendable {
  package var index: BatchIndex
  package var grant: AllotmentGrant

  package init(index: BatchIndex, grant: AllotmentGrant) {
    self.index = index
    self.grant = grant
  }
}
