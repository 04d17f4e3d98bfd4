internal import AdBasics
package import AdSelectionCore

extension StoredDecision {
  /// As its row tells it.
  package init(_ decided: DecidedRequest) {
    let asked = decided.asked
    self.init(
      id: decided.id, requestID: asked.requestID, client: asked.clientHash, placement: asked.placement,
      moment: asked.moment(now: decided.id.timestamp), reason: decided.decision.reason)
  }
}
