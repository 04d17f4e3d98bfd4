package import AdCore
package import Pipeline

/// What a batch of ad selection writes.
package struct SelectionEffects: Sendable {
  /// One for each request that was decided; duplicates and what was forwarded or rejected have none.
  package var decisions: [DecidedRequest] = []
  /// How many requests each minute, by the dimensions of M6, of this batch and of those before it whose counts no table
  /// has yet; empty in batches that write none. Duplicates do not count.
  package var counts: [SelectionCountKey: Int64] = [:]
  /// Allotments granted, as they were when granted.
  package var opened: [AllotmentRow] = []
  /// What each allotment that was sold from has used after this batch.
  package var used: [UInt64: Nanos] = [:]
  package var closed: [ClosedAllotment] = []

  package init() {}

  /// An allotment at its end, with the sequence of its report on `ads.usage`.
  package struct ClosedAllotment: Hashable, Sendable {
    package var row: AllotmentRow
    package var sequence: Int64

    package init(row: AllotmentRow, sequence: Int64) {
      self.row = row
      self.sequence = sequence
    }
  }
}

/// A request with its decision: the values of its row.
package struct DecidedRequest: Hashable, Sendable {
  /// The serve id where an ad was served. Every decision has one, and its time is that of the decision.
  package var id: ServeID
  package var arrived: ArrivedRequest
  package var decision: Decision
  package var outcome: Outcome

  package init(id: ServeID, arrived: ArrivedRequest, decision: Decision, outcome: Outcome) {
    self.id = id
    self.arrived = arrived
    self.decision = decision
    self.outcome = outcome
  }

  /// The ad served; nil for every other outcome.
  package var serve: Serve? { if case .served(let serve) = decision.outcome { serve } else { nil } }

  /// What it is counted by.
  package var countKey: SelectionCountKey {
    var injectedError: AdError?
    if decision.reason == .testError, case .noAd(let error, _) = decision.outcome { injectedError = error }
    return SelectionCountKey(
      request: decision.countKey, campaign: serve?.terms.campaign, ad: serve?.terms.ad, injectedError: injectedError)
  }
}

/// The key of a count per minute.
package struct SelectionCountKey: Hashable, Sendable {
  package var request: MinuteCountKey
  /// What was served; nil for a request that was not filled.
  package var campaign: CampaignID?
  package var ad: AdID?
  /// The error that a test request got although nothing had failed (A2); of other requests the reason says it.
  package var injectedError: AdError?

  package init(request: MinuteCountKey, campaign: CampaignID?, ad: AdID?, injectedError: AdError?) {
    self.request = request
    self.campaign = campaign
    self.ad = ad
    self.injectedError = injectedError
  }
}
