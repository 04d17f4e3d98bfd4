import AdCore
import AdEvents
import Pipeline

/// What a batch asks the tables before it is decided.
package struct ClickQuery: Hashable, Sendable {
  /// Which of these events are stored already.
  package var identities: Set<ActionIdentity> = []
  /// What is known of these served ads.
  package var serves: Set<ServeID> = []
  /// Those of ``serves`` that have parked clicks.
  package var parked: Set<ServeID> = []
  /// When these clients' clicks that count happened, within each one's span.
  package var clients: [UInt64: ClosedRange<Timestamp>] = [:]

  package init() {}

  package var isEmpty: Bool { identities.isEmpty && serves.isEmpty }

  /// Asks for the clicks of a client that the limits may weigh against a click of an ad served on `terms`.
  mutating func addClient(of terms: ServedTerms, windows: Windows) {
    let history = windows.clickHistoryMilliseconds
    let last = terms.expiresAt.advanced(byMilliseconds: windows.tapDelayMilliseconds.upperBound)
    let span =
      terms.issuedAt.advanced(
        byMilliseconds: -history)...max(terms.issuedAt, last).advanced(byMilliseconds: history)
    clients[terms.clientHash] =
      clients[terms.clientHash].map {
        min($0.lowerBound, span.lowerBound)...max($0.upperBound, span.upperBound)
      } ?? span
  }
}

/// What the tables know of what a batch asked.
package struct ClickKnowledge: Sendable {
  /// Stored events among those asked for; parked ones stand in ``serves``.
  package var identities: Set<ActionIdentity> = []
  package var serves: [ServeID: ServeClicks] = [:]
  /// Event times of clicks that count, by client.
  package var counted: [UInt64: [Timestamp]] = [:]

  package init() {}
}

/// What is known of one served ad and its clicks.
package struct ServeClicks: Sendable {
  /// How many clicks of a serve get a verdict of their own; later ones are repeats (M4).
  package static let decidedMaximum = 4

  /// When it was shown; nil while its impression has not come.
  package var shownAt: Timestamp?
  /// How many of its clicks are decided, counted no further than ``decidedMaximum``.
  package var decidedCount = 0
  package var hasBillable = false
  /// Those that wait for the impression, in the order in which they came.
  package var parked: [ParkedClick] = []

  package init() {}

  /// Whether the next click is beyond the first four.
  var isFull: Bool { decidedCount + parked.count >= Self.decidedMaximum }
}
