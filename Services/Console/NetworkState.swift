internal import AdCore
internal import AdEvents
internal import HTTP
internal import Operations

/// Whether all is well, in a line each: what a person who is called wants to know first.
struct NetworkState: Sendable {
  /// The last comparison of all accounts that came to its end.
  var reconciliation: FinishedReconciliation?
  /// Why paid ads are stopped; nil while they are served.
  var stop: PaidAdsStop?

  private struct Line {
    var isFault = false
    var text: String
  }

  var html: HTML {
    HTML.element("section", [.class("state"), .named("aria-label", "State")]) {
      for line in [accounts, paidAds, waiting].compactMap(\.self) {
        HTML.element("p", line.isFault ? [.class("fault")] : []) { line.text }
      }
    }
  }

  private var accounts: Line {
    guard let finished = reconciliation else {
      return Line(text: "The accounts are being compared for the first time.")
    }
    let differences = finished.reconciliation.differences
    let time = "compared \(finished.finishedAt.minuteText)"
    guard differences > 0 else { return Line(text: "All accounts agree, \(time).") }
    let rules = Set(finished.reconciliation.checks.filter { $0.differences > 0 }.map(\.rule)).sorted()
    return Line(
      isFault: true,
      text: "Accounts differ: \(TextTable.grouped(differences)) differences by \(rules.joined(separator: ", ")), "
        + "\(time). Pay nobody until the cause is known: handbill reconcile, docs/runbooks.md.")
  }

  private var paidAds: Line {
    guard let stop else { return Line(text: "Paid ads are served.") }
    return Line(isFault: true, text: "Paid ads are stopped: \(Self.words(stop)). docs/runbooks.md, PaidAdsStopped.")
  }

  private static func words(_ stop: PaidAdsStop) -> String {
    switch stop {
    case .difference: "accounts that must agree differ"
    case .lag: "what is decided or charged is too far behind"
    case .clockError: "the network's clocks differ too much"
    case .reconciliationStale: "nobody has compared the accounts for too long"
    case .unknown: "for a reason of a newer console"
    }
  }

  /// What a person has to decide.
  private var waiting: Line? {
    guard let found = reconciliation?.reconciliation else { return nil }
    let counts = [
      (found.held, "held (handbill traffic)"),
      (found.suspense, "in suspense (handbill suspense)"),
    ]
    let parts = counts.filter { $0.0 > 0 }.map { "\(TextTable.grouped($0.0)) \($0.1)" }
    guard !parts.isEmpty else { return nil }
    return Line(isFault: true, text: "Events that wait for a person: \(parts.joined(separator: ", ")).")
  }
}

extension Timestamp {
  /// As people read it: `2026-07-01 12:00 UTC`.
  var minuteText: String { utcText.prefix(16).replacing("T", with: " ") + " UTC" }
}
