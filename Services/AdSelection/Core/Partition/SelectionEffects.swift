package import AdCore

/// What a batch of ad selection writes.
package struct SelectionEffects: Sendable {
  /// One for each request that was decided; duplicates and what was forwarded or rejected have none.
  package var decisions: [DecidedRequest] = []
  /// Allotments granted, as they were when granted.
  package var opened: [OpenedAllotment] = []
  /// What each allotment that was sold from has used after this batch.
  package var used: [UInt64: AllotmentUse] = [:]
  package var closed: [ClosedAllotment] = []
  /// Requests without their app's key beyond what is answered and kept of them (``KeylessLimit``): nothing is stored but
  /// how many they are, with the batch.
  package var keylessBeyondLimit: Int64 = 0

  package init() {}

  /// An allotment as it was granted, with its record's index in the batch: requests behind it could be served from it.
  package struct OpenedAllotment: Hashable, Sendable {
    package var row: AllotmentRow
    package var index: Int32
  }

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
  package var asked: AskedRequest
  package var decision: Decision
  package var outcome: Outcome
  /// Its record's index in the batch: decisions of a batch were made in this order.
  package var index: Int32

  package init(id: ServeID, asked: AskedRequest, decision: Decision, outcome: Outcome, index: Int32) {
    self.id = id
    self.asked = asked
    self.decision = decision
    self.outcome = outcome
    self.index = index
  }

  /// The ad served; nil for every other outcome.
  package var serve: Serve? { if case .served(let serve) = decision.outcome { serve } else { nil } }
}
