internal import AdCore
internal import Postgres
package import Runtime
internal import Synchronization

/// Looks at the accounts all the time while the console runs, tells the billing circuit breaker, and exports what it
/// finds. It rests four times as long as a pass took, so that it never takes more than a fifth of one connection.
package final class OnlineReconciliation: Sendable {
  package static let completeUntil = MetricDeclaration.gauge(
    "handbill_reconciliation_complete_until_timestamp_seconds",
    help: "Everything that arrived before is decided, charged and compared, in seconds since 1970.")
  package static let passSeconds = MetricDeclaration.gauge(
    "handbill_reconciliation_pass_seconds", help: "How long the last pass over the accounts took.")
  package static let rows = MetricDeclaration.counter(
    "handbill_reconciliation_rows_total", help: "Rows compared by passes over the accounts, by rule.", labels: ["rule"])
  package static let lag = MetricDeclaration.gauge(
    "handbill_reconciliation_lag_seconds",
    help: "How far behind each step is, of its partition furthest behind, by the tables.", labels: ["step"])
  package static let clockError = MetricDeclaration.gauge(
    "handbill_clock_error_seconds", help: "The greatest difference seen between the clocks of the network.")
  /// Every metric that it shows.
  package static let metrics = [completeUntil, passSeconds, rows, lag, clockError]

  package static let interval = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_RECONCILIATION_PASS_INTERVAL", in: 100...60_000, default: 1_000,
    help: "Between the end of a pass over the accounts and the begin of the next; longer where a pass takes long.")
  private static let restFactor: Int64 = 4

  private let breaker: BillingBreaker
  private let intervalMilliseconds: Int64
  private let context: ServiceContext
  private let lastComplete = Mutex<Timestamp?>(nil)

  private init(breaker: BillingBreaker, intervalMilliseconds: Int, context: ServiceContext) {
    self.breaker = breaker
    self.intervalMilliseconds = Int64(intervalMilliseconds)
    self.context = context
  }

  /// Takes the first pass at once, so that the breaker knows what to say, and goes on on a thread of its own until the
  /// service stops.
  package static func start(
    _ reconciler: OnlineReconciler, breaker: BillingBreaker, intervalMilliseconds: Int, context: ServiceContext
  ) {
    let watch = OnlineReconciliation(
      breaker: breaker, intervalMilliseconds: intervalMilliseconds, context: context)
    context.metrics.sample(Self.completeUntil) {
      watch.lastComplete.withLock { $0.map { Double($0.milliseconds) / 1_000 } }
    }
    var first = reconciler
    let firstPause = watch.pass(&first)
    context.lifeCycle.startRounds("passes") { [first] rest in
      var (reconciler, pause) = (first, firstPause)
      while rest(pause) { pause = watch.pass(&reconciler) }
    }
  }

  /// How long to rest, in milliseconds.
  private func pass(_ reconciler: inout OnlineReconciler) -> Int64 {
    let logger = context.logger.named("reconciliation")
    let begin = context.clock.monotonicMilliseconds
    do throws(PostgresError) {
      let finding = try reconciler.pass(clock: context.clock)
      breaker.note(finding.pass, now: begin)
      show(finding, logger: logger)
      return max(intervalMilliseconds, finding.tookMilliseconds * Self.restFactor)
    } catch {
      logger.limited(
        .warning, key: "pass", "the accounts could not be compared", ["error": .text(error.description)])
      return intervalMilliseconds
    }
  }

  private func show(_ finding: OnlineReconciler.Finding, logger: Logger) {
    for check in finding.checks {
      context.metrics.gauge(ReconciliationWatch.differences, ["rule": check.rule, "scope": "recent"])
        .set(Double(check.differences))
      context.metrics.counter(Self.rows, ["rule": check.rule]).add(Int(clamping: check.compared))
      check.tellDifference(to: logger, scope: "recent")
    }
    for lag in finding.lags {
      context.metrics.gauge(Self.lag, ["step": lag.step]).set(Double(lag.milliseconds) / 1_000)
    }
    context.metrics.gauge(Self.clockError).set(Double(finding.clockErrorMilliseconds) / 1_000)
    context.metrics.gauge(Self.passSeconds).set(Double(finding.tookMilliseconds) / 1_000)
    lastComplete.withLock { $0 = finding.completeUntil }
  }
}
