package import AdCore
package import AdEvents
internal import Pipeline

/// What a record of billing's inputs says.
package enum BillingInput: Hashable, RejectableEvent {
  case event(AcceptedEvent)
  case ask(AllotmentAsk)
  case report(AllotmentReport)
  /// It has taken its effect before anything is decided.
  case watermark
  case rejected(Rejection)
}

/// An impression or a click that a tracker accepted.
package struct AcceptedEvent: Hashable, Sendable {
  package var kind: ChargeKind
  package var terms: ServedTerms
  /// Which click of the serve; 0 for the impression.
  package var idHash: UInt64
  package var eventTime: Timestamp
  package var arrival: Timestamp
  package var verdict: ClickVerdict

  package init(_ impression: AcceptedImpression) {
    kind = .impression
    terms = impression.terms
    idHash = 0
    eventTime = impression.eventTime
    arrival = impression.arrival
    verdict = .billable
  }

  package init(_ click: AcceptedClick) {
    kind = .click
    terms = click.terms
    idHash = click.idHash
    eventTime = click.eventTime
    arrival = click.arrival
    verdict = click.verdict
  }

  /// What the terms say it costs (B1: a developer campaign's impression has the price 0).
  package var price: Nanos { kind == .impression ? terms.impressionPrice : terms.clickPrice }
}
