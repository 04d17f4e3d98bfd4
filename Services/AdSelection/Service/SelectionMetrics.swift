internal import AdCore
internal import AdSelectionCore
internal import Runtime

/// What ad selection measures besides what every service does.
struct SelectionMetrics: Sendable {
  static let decisions = MetricDeclaration.counter(
    "handbill_decisions_total", help: "Requests of apps decided, by reason; test traffic apart.",
    labels: ["reason", "test"])
  static let keyless = MetricDeclaration.counter(
    "handbill_requests_without_app_key_total",
    help: "Requests without the key of the app they name, by reason: they count for no app.", labels: ["reason"])
  static let answerSeconds = MetricDeclaration.histogram(
    "handbill_answer_seconds", bounds: MetricDeclaration.secondsBounds,
    help: "From a request's arrival to the commit of its decision, after which it is answered at once.")
  static let allotmentsOpened = MetricDeclaration.counter(
    "handbill_allotments_opened_total", help: "Allotments taken from ads.budgets.")
  static let allotmentsClosed = MetricDeclaration.counter(
    "handbill_allotments_closed_total", help: "Allotments closed and reported, used up or not.", labels: ["used_up"])
  static let catalogAge = MetricDeclaration.gauge(
    "handbill_catalog_age_seconds", help: "How long ago the catalogue's last heartbeat was sent; -1 before the first.")
  static let catalogState = MetricDeclaration.gauge(
    "handbill_catalog_state",
    help: "1 for the state that the catalogue is in, else 0; paid ads are served in the state complete alone.",
    labels: ["state"])
  static let catalogRefused = MetricDeclaration.counter(
    "handbill_catalog_refused_total", help: "Records of the catalogue that were not taken.")
  static let declarations = [
    decisions, keyless, answerSeconds, allotmentsOpened, allotmentsClosed, catalogAge, catalogState, catalogRefused,
  ]

  let registry: MetricsRegistry
  let clock: any TimeSource
  private let answerSeconds: Histogram
  /// One for each reason from the start, so that a rate sees the first decision of its kind too.
  private let decisions: [SelectionCount: Counter]
  private let keyless: [DecisionReason: Counter]

  init(registry: MetricsRegistry, clock: any TimeSource) {
    self.registry = registry
    self.clock = clock
    answerSeconds = registry.histogram(Self.answerSeconds)
    var decisions: [SelectionCount: Counter] = [:]
    for reason in DecisionReason.allCases where !reason.isWithoutAppKey {
      for isTest in [false, true] {
        decisions[SelectionCount(reason: reason, isTest: isTest)] = registry.counter(
          Self.decisions, ["reason": "\(reason)", "test": "\(isTest)"])
      }
    }
    self.decisions = decisions
    keyless = Dictionary(
      uniqueKeysWithValues: DecisionReason.allCases.filter(\.isWithoutAppKey).map {
        ($0, registry.counter(Self.keyless, ["reason": "\($0)"]))
      })
  }

  /// After a commit.
  func note(_ effects: SelectionEffects) {
    let now = clock.now
    for decided in effects.decisions {
      let decision = decided.decision
      if let counter = keyless[decision.reason] {
        counter.add()
      } else {
        decisions[SelectionCount(reason: decision.reason, isTest: decision.isTest)]?.add()
      }
      answerSeconds.observe(milliseconds: max(0, now.milliseconds(since: decided.asked.arrival)))
    }
    if effects.keylessBeyondLimit > 0 { keyless[.keylessBeyondLimit]?.add(Int(effects.keylessBeyondLimit)) }
    if !effects.opened.isEmpty { registry.counter(Self.allotmentsOpened).add(effects.opened.count) }
    for closed in effects.closed {
      let isUsedUp = closed.row.used == closed.row.amount
      registry.counter(Self.allotmentsClosed, ["used_up": String(isUsedUp)]).add()
    }
  }

  private struct SelectionCount: Hashable {
    let reason: DecisionReason
    let isTest: Bool
  }
}
