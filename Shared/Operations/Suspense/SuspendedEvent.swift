package import AdCore
package import JSON
internal import Runtime

/// An accepted event that billing could not charge.
package struct SuspendedEvent: Hashable, Sendable {
  package var serveID: ServeID
  package var kind: ChargeKind
  package var eventTime: Timestamp
  package var app: String
  package var campaign: String
  package var currency: String
  package var price: Nanos
  /// Why it could not be charged.
  package var reason: String
  /// When a person decided that nobody pays it, and why; nil while it waits for one.
  package var voided: Voided?

  package struct Voided: Hashable, Sendable {
    package var at: Timestamp
    package var reason: String
  }

  package var json: JSONValue {
    [
      "serveId": .text(serveID.description), "kind": .text(kind.name), "eventTime": .text(eventTime.utcText),
      "app": .text(app), "campaign": .text(campaign), "currency": .text(currency),
      "price": .text(MoneyText.format(Int128(price.value))), "reason": .text(reason),
      "voidedAt": .optional(voided?.at.utcText), "voidReason": .optional(voided?.reason),
    ]
  }

  /// For a terminal.
  package static func text(_ events: [SuspendedEvent]) -> String {
    guard !events.isEmpty else { return "Nothing is in suspense.\n" }
    var table = TextTable(["serve id", "kind", "at", "app", "campaign", "price", "why"], rightAligned: [5])
    table.rows = events.map { event in
      [
        event.serveID.description, event.kind.name, event.eventTime.utcText, event.app, event.campaign,
        "\(event.currency) \(MoneyText.format(Int128(event.price.value)))",
        event.voided.map { "voided: \($0.reason)" } ?? event.reason,
      ]
    }
    return table.text
  }
}

/// What became of an event that was tried again.
package struct RetriedEvent: Hashable, Sendable {
  package var kind: ChargeKind
  package var fate: ChargeFate

  package init(kind: ChargeKind, fate: ChargeFate) {
    self.kind = kind
    self.fate = fate
  }
}
