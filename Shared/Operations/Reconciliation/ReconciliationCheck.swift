package import AdCore
package import JSON
internal import Runtime

/// One comparison between tables that must agree.
package struct ReconciliationCheck: Hashable, Sendable {
  /// The invariant, such as `I7a`.
  package var rule: String
  /// What is compared, in words.
  package var name: String
  /// How many rows were compared.
  package var compared: Int64
  package var differences: Int64
  /// Some of the differences, in words.
  package var examples: [String]

  package init(rule: String, name: String, compared: Int64, differences: Int64, examples: [String] = []) {
    self.rule = rule
    self.name = name
    self.compared = compared
    self.differences = differences
    self.examples = examples
  }

  /// Takes what the same comparison of another range came to.
  mutating func add(_ other: ReconciliationCheck) {
    compared += other.compared
    differences += other.differences
    examples = Array((examples + other.examples).prefix(Self.examplesMaximum))
  }

  private static let examplesMaximum = 5

  /// Nothing compared says nothing: it is not "0 differences".
  var result: String { compared == 0 && differences == 0 ? "nothing compared" : TextTable.grouped(differences) }

  /// Logs what differs, if anything does.
  ///
  /// - Parameter scope: who compared, as in the metric's label.
  func tellDifference(to logger: Logger, scope: String) {
    guard differences > 0 else { return }
    logger.limited(
      .error, key: "difference-\(scope)-\(rule)", "accounts that must agree differ",
      [
        "rule": .text(rule), "check": .text(name), "scope": .text(scope), "differences": LogValue(Int(differences)),
        "examples": .text(examples.joined(separator: "; ")),
      ])
  }
}

/// What a service has published and a consumer has not consumed yet.
package struct NotConsumed: Hashable, Sendable {
  package var topic: String
  package var consumer: String
  package var sequences: Int64
}

/// How much can still change (I7c).
package struct Finality: Hashable, Sendable {
  /// Live served ads.
  package var serves: Int64
  /// Those for which nothing can arrive any more.
  package var final: Int64
  package var impressions: Int64
  package var expired: Int64
  /// When the last of the others is final; nil when none is in flight.
  package var finalBy: Timestamp?

  package var inFlight: Int64 { serves - final }

  package var text: String {
    let start = "final: \(TextTable.grouped(final)) of \(TextTable.grouped(serves)) serves"
    guard inFlight > 0 else { return start }
    return start
      + "; \(TextTable.grouped(inFlight)) in flight, final by \(finalBy?.utcText ?? "a moment not yet known")"
  }
}

/// A comparison that came to its end, and when.
package struct FinishedReconciliation: Sendable {
  package var reconciliation: Reconciliation
  /// When it began: what it says is of this moment or a later one.
  package var startedAt: Timestamp
  package var finishedAt: Timestamp

  /// The comparison, and before it when it was made.
  package var json: JSONValue {
    guard case .object(let members) = reconciliation.json else { return .null }
    return .object(
      [.init("startedAt", .text(startedAt.utcText)), .init("finishedAt", .text(finishedAt.utcText))] + members)
  }
}

/// The comparison of all accounts (I3, I5, I6, I7, I8).
package struct Reconciliation: Sendable {
  package var checks: [ReconciliationCheck]
  package var notConsumed: [NotConsumed]
  /// Clicks that wait for their impression, or for an earlier click of their client.
  package var parked: Int64
  /// Accepted events that wait for budget that allotments may return (B4).
  package var waiting: Int64
  /// Accepted events that the database refused as a charge.
  package var suspense: Int64
  /// Accepted events beyond a cap of their app's hour, which wait for a person (B8).
  package var held: Int64
  /// What a person has accepted to be lost.
  package var lostServes: [LostServes]
  /// Budget in allotments that have not ended, not yet charged: by currency, in nanos.
  package var reserved: [(currency: String, nanos: Int128)]
  package var finality: Finality
  /// Of days before this moment the sums are compared, and not the rows; nil where no day is sealed.
  package var sealedUntil: Timestamp?

  package var differences: Int64 { checks.reduce(0) { $0 + $1.differences } }
  /// True when something was compared and nothing differs.
  package var isClean: Bool { differences == 0 && checks.contains { $0.compared > 0 } }

  package var json: JSONValue {
    [
      "isClean": .flag(isClean), "differences": .integer(differences),
      "checks": .list(
        checks.map { check in
          [
            "rule": .text(check.rule), "name": .text(check.name), "compared": .integer(check.compared),
            "differences": check.compared == 0 && check.differences == 0 ? .null : .integer(check.differences),
            "examples": .texts(check.examples),
          ]
        }),
      "sequencesNotConsumed": .list(
        notConsumed.map {
          ["topic": .text($0.topic), "consumer": .text($0.consumer), "sequences": .integer($0.sequences)]
        }),
      "parkedClicks": .integer(parked), "waitingForBudget": .integer(waiting), "suspense": .integer(suspense),
      "held": .integer(held), "decisionsLost": .list(lostServes.map(\.json)),
      "reserved": .list(
        reserved.map { ["currency": .text($0.currency), "amount": .text(MoneyText.format($0.nanos))] }),
      "finality": [
        "serves": .integer(finality.serves), "final": .integer(finality.final),
        "inFlight": .integer(finality.inFlight), "impressions": .integer(finality.impressions),
        "expired": .integer(finality.expired), "finalBy": .optional(finality.finalBy?.utcText),
      ],
      "sealedUntil": .optional(sealedUntil?.utcText),
    ]
  }

  /// For a terminal.
  package var text: String {
    var table = TextTable(["rule", "what is compared", "rows", "differences"], rightAligned: [2, 3])
    for check in checks {
      table.rows.append([check.rule, check.name, TextTable.grouped(check.compared), check.result])
    }
    var lines = table.text
    for check in checks where !check.examples.isEmpty {
      lines += "\n\(check.rule) \(check.name):\n" + check.examples.map { "  \($0)\n" }.joined()
    }
    let unconsumed = notConsumed.filter { $0.sequences > 0 }
      .map { "\(TextTable.grouped($0.sequences)) of \($0.topic) by \($0.consumer)" }
    let money = reserved.map { "\($0.currency) \(MoneyText.format($0.nanos))" }
    lines += "\nsequences not yet consumed: \(unconsumed.isEmpty ? "0" : unconsumed.joined(separator: ", "))\n"
    lines += "parked clicks: \(TextTable.grouped(parked)); waiting for budget: \(TextTable.grouped(waiting)); "
    lines += "in suspense: \(TextTable.grouped(suspense)); held: \(TextTable.grouped(held)); "
    lines += "reserved budget: \(money.isEmpty ? "none" : money.joined(separator: ", "))\n"
    for lost in lostServes { lines += lost.text + "\n" }
    lines += finality.text + "\n"
    if let sealedUntil { lines += "days before \(sealedUntil.utcText) are sealed: their sums are compared\n" }
    return lines
      + (isClean ? "0 differences\n" : differences == 0 ? "nothing compared\n" : "\(differences) differences\n")
  }
}
