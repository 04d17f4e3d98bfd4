package import AdCore
package import AdEvents
package import Pipeline

/// What a batch of click tracking writes.
package struct ClickEffects: Sendable {
  package var clicks: [Click] = []
  /// Clicks that begin to wait and still wait when the batch ends.
  package var parked: [ActionIdentity: ParkedClick] = [:]
  /// Clicks that were parked by earlier batches and wait no more.
  package var released: [ActionIdentity] = []
  package var impressions: [Impression] = []
  package var stoppedActions: [StoppedAction] = []
  package var conversions: [Conversion] = []

  package init() {}

  /// A click with its verdict, and its sequence on `ads.clicks.accepted`.
  package struct Click: Hashable, Sendable {
    package var sequence: Int64
    package var accepted: AcceptedClick
    /// The action was over too soon (M7), whatever prevails in the verdict.
    package var isAccidental: Bool
    /// False where so many came before it that it has no verdict of its own.
    package var isJudged: Bool
    /// Its record's outcome was `parked`.
    package var wasParked: Bool
  }

  /// When a served ad was shown.
  package struct Impression: Hashable, Sendable {
    package var serveID: ServeID
    package var shownAt: Timestamp
  }

  /// An action that the app blocked or cancelled (A7, D7, D9).
  package struct StoppedAction: Sendable {
    package var kind: TapKind
    package var idHash: UInt64
    package var terms: ServedTerms
    package var eventTime: Timestamp
  }
}

extension ClickEffects {
  /// What a user did in an advertised app after a click (M8).
  package struct Conversion: Sendable {
    package var told: ToldConversion
    package var eventTime: Timestamp
    package var arrival: Timestamp
    /// Whose key it carries.
    package var app: AppID
    /// By the kind of build that its key is of (A1).
    package var isTest: Bool
  }
}

/// A click that has no verdict yet: it waits for its impression (M5), or for earlier clicks of its client on which its
/// own verdict depends. All that the verdict then needs.
package struct ParkedClick: Hashable, Sendable {
  package var terms: ServedTerms
  package var idHash: UInt64
  package var eventTime: Timestamp
  package var arrival: Timestamp
  /// The action was over too soon (M7).
  package var isAccidental: Bool
  package var position: ClickPosition

  package init(
    terms: ServedTerms, idHash: UInt64, eventTime: Timestamp, arrival: Timestamp, isAccidental: Bool,
    position: ClickPosition
  ) {
    self.terms = terms
    self.idHash = idHash
    self.eventTime = eventTime
    self.arrival = arrival
    self.isAccidental = isAccidental
    self.position = position
  }

  package var identity: ActionIdentity { ActionIdentity(serveID: terms.serveID, kind: .click, idHash: idHash) }
  package var client: ClickClient { ClickClient(of: terms) }
}

/// The key of a count per minute.
package struct ClickMinuteKey: Hashable, Sendable {
  package var event: AdMinute
  package var kind: TapKind
  /// Nil for a stopped action.
  package var verdict: ClickVerdict?

  package init(kind: TapKind, verdict: ClickVerdict?, _ event: AdMinute) {
    self.event = event
    self.kind = kind
    self.verdict = verdict
  }
}

extension ClickEffects {
  /// Adds one for each event to its minute.
  func count(into counts: inout [ClickMinuteKey: Int64]) {
    for click in clicks {
      let accepted = click.accepted
      let event = AdMinute(of: accepted.terms, time: accepted.eventTime)
      counts[ClickMinuteKey(kind: .click, verdict: accepted.verdict, event), default: 0] += 1
    }
    for action in stoppedActions {
      let event = AdMinute(of: action.terms, time: action.eventTime)
      counts[ClickMinuteKey(kind: action.kind, verdict: nil, event), default: 0] += 1
    }
  }
}
