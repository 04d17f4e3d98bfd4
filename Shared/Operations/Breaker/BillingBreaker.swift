internal import AdCore
package import AdEvents
package import Runtime
internal import Synchronization

/// The one billing circuit breaker of a console: told by whoever compares the accounts, read by whoever publishes the
/// catalogue's heartbeat.
package final class BillingBreaker: Sendable {
  package static let stopped = MetricDeclaration.gauge(
    "handbill_paid_ads_stopped", help: "1 while the billing circuit breaker is open for the reason.", labels: ["reason"]
  )
  /// Every metric that a breaker shows.
  package static let metrics = [stopped]

  private static let confirmations = ConfigurationKey<Int>.integer(
    "HANDBILL_BREAKER_CONFIRMATIONS", in: 1...100, unit: "passes", default: 2,
    help: "Passes in a row that must find a fault before paid ads stop.")
  private static let cleanPasses = ConfigurationKey<Int>.integer(
    "HANDBILL_BREAKER_CLEAN_PASSES", in: 1...1_000, unit: "passes", default: 5,
    help: "Passes in a row without a fault before paid ads are served again.")
  private static let lag = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_BREAKER_LAG", in: 15_000...86_400_000, default: 120_000,
    help: "How far behind deciding and charging may be before paid ads stop.")
  private static let clockError = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_BREAKER_CLOCK_ERROR", in: 100...60_000, default: 5_000,
    help: "How far the clocks of console, database, broker and services may differ before paid ads stop.")
  private static let stale = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_BREAKER_STALE", in: 5_000...3_600_000, default: 60_000,
    help: "How long the accounts may go without being compared before paid ads stop.")
  package static let isObeyed = ConfigurationKey<Bool>.flag(
    "HANDBILL_BREAKER_OBEYED", default: true,
    help: "Whether paid ads stop while the billing circuit breaker is open; false only tells of it.")
  package static let declarations = [
    isObeyed.declaration, confirmations.declaration, cleanPasses.declaration, lag.declaration, clockError.declaration,
    stale.declaration,
  ]

  package static func limits(_ reader: inout ConfigurationReader) -> CircuitBreaker.Limits {
    var limits = CircuitBreaker.Limits()
    limits.confirmations = reader.value(confirmations)
    limits.cleanPasses = reader.value(cleanPasses)
    limits.lagMilliseconds = Int64(reader.value(lag))
    limits.clockErrorMilliseconds = Int64(reader.value(clockError))
    limits.staleMilliseconds = Int64(reader.value(stale))
    return limits
  }

  private let breaker: Mutex<CircuitBreaker>
  private let isObeyed: Bool
  private let clock: any TimeSource
  private let logger: Logger
  private let metrics: MetricsRegistry

  /// - Parameter isObeyed: false: it tells of itself by metrics and log, and ``stop`` is nil.
  package init(limits: CircuitBreaker.Limits, isObeyed: Bool = true, context: ServiceContext) {
    self.isObeyed = isObeyed
    breaker = Mutex(CircuitBreaker(limits: limits, now: context.clock.monotonicMilliseconds))
    clock = context.clock
    logger = context.logger.named("breaker")
    metrics = context.metrics
    show(.reconciliationStale)
  }

  /// Takes a pass that began at `now` (monotonic, in milliseconds).
  package func note(_ pass: CircuitBreaker.Pass, now: Int64) { change { $0.note(pass, now: now) } }

  /// Why paid ads are stopped now; nil while they are served.
  package var stop: PaidAdsStop? {
    let now = clock.monotonicMilliseconds
    let stop = change { $0.advance(to: now) }
    return isObeyed ? stop : nil
  }

  @discardableResult
  private func change(_ body: (inout CircuitBreaker) -> Void) -> PaidAdsStop? {
    let (before, after) = breaker.withLock { breaker in
      let before = breaker.stop
      body(&breaker)
      return (before, breaker.stop)
    }
    if before != after {
      show(after)
      if let after {
        logger.error(
          "the billing circuit breaker is open", ["reason": .text("\(after)"), "number": LogValue(Int(after.rawValue))])
      } else {
        logger.notice("the billing circuit breaker is closed")
      }
    }
    return after
  }

  private func show(_ stop: PaidAdsStop?) {
    for reason in PaidAdsStop.allCases where reason != .unknown {
      metrics.gauge(Self.stopped, ["reason": "\(reason)"]).set(reason == stop ? 1 : 0)
    }
  }
}
