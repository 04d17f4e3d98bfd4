package import AdCore

/// A decision of the last minute as its row tells it: what throttling and repeated requests need to know of it.
package struct StoredDecision: Hashable, Sendable {
  package var id: ServeID
  package var requestID: UUIDv7
  package var client: UInt64
  /// Nil where a request with a mistake does not tell it.
  package var placement: PlacementID?
  /// When the request came, by no clock that was ahead of the decider's.
  package var moment: Timestamp
  package var reason: DecisionReason

  package init(
    id: ServeID, requestID: UUIDv7, client: UInt64, placement: PlacementID?, moment: Timestamp, reason: DecisionReason
  ) {
    self.id = id
    self.requestID = requestID
    self.client = client
    self.placement = placement
    self.moment = moment
    self.reason = reason
  }
}

/// What a partition's tables hold of its state.
package struct StoredState: Sendable {
  /// Those not closed; and of those that ended within the book's memory, for each campaign and budget day, that of the
  /// highest ordinal with the last one's end.
  package var allotments: [AllotmentRow] = []
  /// Those of the last ``memoryMilliseconds(throttle:)``, in any order.
  package var decisions: [StoredDecision] = []
  /// How many test requests each client has made on ``testDay``; of many clients those that asked last.
  package var testRequests: [UInt64: UInt64] = [:]
  /// As ``TestSequence/day(of:)`` tells it.
  package var testDay: Int64 = 0
  /// How many live requests of apps were counted in this hour and the one before.
  package var appRequests: [AppRequests.Key: Int64] = [:]

  package init() {}

  /// How far back from the last request's arrival decisions are read: as long as a request is remembered, and as
  /// throttling looks back.
  package static func memoryMilliseconds(throttle: Throttle.Limits) -> Int64 {
    max(RecentRequests().memoryMilliseconds, 2 * max(throttle.refreshMilliseconds, throttle.windowMilliseconds))
  }
}

extension PartitionState {
  /// The state as its tables tell it, so that a partition goes on after a restart as if there had been none. What was
  /// used in the last minute begins at nothing: the next allotments may be small.
  package init(
    restoring stored: StoredState, throttle: Throttle.Limits, allotments: AllotmentBook.Limits,
    memory: SelectionMemory = SelectionMemory()
  ) {
    self.init(
      allotments: AllotmentBook(restoring: stored.allotments, limits: allotments),
      throttle: Throttle(limits: throttle, memory: memory.clients), recent: RecentRequests(memory: memory.requests),
      testSequence: TestSequence(
        restoring: stored.testRequests, of: stored.testDay, clients: memory.testClients))
    placements = PlacementNames(sharing: memory.placements)
    requests = AppRequests(stored.appRequests, sharing: memory.appHours)
    // What came earlier is forgotten earlier.
    for decision in stored.decisions.sorted(by: { $0.moment < $1.moment }) {
      if decision.reason.countsForThrottle, let placement = decision.placement {
        self.throttle.note(client: decision.client, placement: placement, at: decision.moment)
      }
      if decision.reason.isRemembered {
        recent.note(decision.requestID, client: decision.client, id: decision.id, at: decision.moment)
      }
    }
  }
}
