package import AdCore
internal import AdEvents
package import Pipeline

/// The key of a count per minute.
package struct ImpressionMinuteKey: Hashable, Sendable {
  package var event: AdMinute
  package var kind: RecordedKind
  package var error: AdError?

  package init(_ kind: RecordedKind, error: AdError? = nil, _ event: AdMinute) {
    self.event = event
    self.kind = kind
    self.error = error
  }
}

extension ImpressionEffects {
  /// Adds one for each event to its minute.
  func count(into counts: inout [ImpressionMinuteKey: Int64]) {
    // By their indices: a copy of each would cost as much as counting it.
    for index in impressions.indices {
      let event = AdMinute(of: impressions[index].accepted.terms, time: impressions[index].accepted.eventTime)
      counts[ImpressionMinuteKey(.viewed, event), default: 0] += 1
    }
    for delivery in deliveries {
      let event = AdMinute(of: delivery.terms, time: delivery.eventTime)
      counts[ImpressionMinuteKey(delivery.kind, error: delivery.error, event), default: 0] += 1
    }
    for row in failures {
      let event = AdMinute(app: row.failure.app, time: row.arrival, isTest: row.isTest)
      counts[ImpressionMinuteKey(.failed, error: row.failure.error, event), default: 0] += 1
    }
  }
}
