internal import AdCore
package import Postgres
package import Runtime
internal import Synchronization

/// Compares everything again and again while the console runs, and exports what it finds. Between two such comparisons
/// ``OnlineReconciliation`` compares what is new.
package final class ReconciliationWatch: Sendable {
  package static let differences = MetricDeclaration.gauge(
    "handbill_reconciliation_difference",
    help: """
      Rows that must agree and do not, by the rule that they break; 0 when all is well. Scope recent: what the passes \
      find all the time among serves whose events can still arrive; scope all: the comparison of everything.
      """,
    labels: ["rule", "scope"])
  package static let completed = MetricDeclaration.gauge(
    "handbill_reconciliation_completed_timestamp_seconds",
    help: "When the last reconciliation came to its end, in seconds since 1970.")
  package static let seconds = MetricDeclaration.gauge(
    "handbill_reconciliation_seconds",
    help: "How long the last reconciliation took with its rests, or would have taken with them.")
  package static let notConsumed = MetricDeclaration.gauge(
    "handbill_sequences_not_consumed", help: "Published and not consumed yet.", labels: ["topic", "consumer"])
  package static let parked = MetricDeclaration.gauge(
    "handbill_parked_clicks", help: "Clicks that wait for their impression, or for an earlier click of their client.")
  package static let waiting = MetricDeclaration.gauge(
    "handbill_waiting_events", help: "Accepted events that wait for budget that allotments may return (B4).")
  package static let suspense = MetricDeclaration.gauge(
    "handbill_suspense_events", help: "Accepted events that could not be charged and wait for a person.")
  package static let held = MetricDeclaration.gauge(
    "handbill_held_events",
    help: "Accepted events beyond a cap of their app's hour (B8), or of ads whose decision was lost, which wait for a "
      + "person.")
  package static let unfunded = MetricDeclaration.gauge(
    "handbill_unfunded_events",
    help: """
      Events that no budget could pay, of days that were open when the console started and since: the network's loss (B4).
      """)
  /// Every metric that a watch shows.
  package static let metrics = [
    differences, completed, seconds, notConsumed, parked, waiting, suspense, held, unfunded,
  ]

  package static let interval = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_RECONCILIATION_INTERVAL", in: 1_000...86_400_000, default: 60_000,
    help: """
      Between the end of a comparison of everything and the begin of the next. But for the first one they take a tenth \
      of one connection's time: they rest behind each of their statements.
      """)

  /// What the metrics without labels show; nil before the first round, so that a new process does not say 0.
  private struct Figures: Sendable {
    var completed: Timestamp
    var tookMilliseconds: Int64
    var parked: Int64
    var waiting: Int64
    var suspense: Int64
    var held: Int64
    var unfunded: Int64
  }

  private let pool: PostgresPool
  private let intervalMilliseconds: Int
  private let context: ServiceContext
  private let figures = Mutex<Figures?>(nil)
  private let finished = Mutex<FinishedReconciliation?>(nil)

  init(pool: PostgresPool, intervalMilliseconds: Int, context: ServiceContext) {
    self.pool = pool
    self.intervalMilliseconds = intervalMilliseconds
    self.context = context
  }

  /// Starts watching on a thread of its own, until the service stops.
  ///
  /// - Parameter pool: used by nobody else: a statement may take long.
  package static func start(
    pool: PostgresPool, intervalMilliseconds: Int, context: ServiceContext
  ) -> ReconciliationWatch {
    let watch = ReconciliationWatch(pool: pool, intervalMilliseconds: intervalMilliseconds, context: context)
    watch.showFigures()
    context.lifeCycle.startRounds("reconciliation") { watch.run(rest: $0) }
    return watch
  }

  /// The last comparison that came to its end; nil before the first.
  package var last: FinishedReconciliation? { finished.withLock { $0 } }

  private func showFigures() {
    let metrics = context.metrics
    metrics.sample(Self.completed) { [self] in figure { Double($0.completed.milliseconds) / 1_000 } }
    metrics.sample(Self.seconds) { [self] in figure { Double($0.tookMilliseconds) / 1_000 } }
    metrics.sample(Self.parked) { [self] in figure { Double($0.parked) } }
    metrics.sample(Self.waiting) { [self] in figure { Double($0.waiting) } }
    metrics.sample(Self.suspense) { [self] in figure { Double($0.suspense) } }
    metrics.sample(Self.held) { [self] in figure { Double($0.held) } }
    metrics.sample(Self.unfunded) { [self] in figure { Double($0.unfunded) } }
  }

  private func figure(_ read: (Figures) -> Double) -> Double? { figures.withLock { $0.map(read) } }

  /// Compares again and again.
  ///
  /// - Parameter rest: waits so many milliseconds; false: the process stops.
  func run(rest: @escaping @Sendable (Int64) -> Bool) {
    let logger = context.logger.named("reconciliation")
    let clock = context.clock
    // The first one has no rests: until it has come to its end there is no figure, and nobody is told of a difference.
    let usual = ComparisonPace(clock: clock, rest: rest)
    var pace = usual.hurried
    var unfunded = UnfundedEvents()
    repeat {
      do throws(PostgresError) {
        let (startedAt, begin) = (clock.now, clock.monotonicMilliseconds)
        let result = try Reconciler(pool, pace: pace).reconcile()
        finished.withLock {
          $0 = FinishedReconciliation(reconciliation: result, startedAt: startedAt, finishedAt: clock.now)
        }
        show(result, logger: logger)
        let events = try pace.step { () throws(PostgresError) in
          try pool.snapshot { connection throws(PostgresError) in try unfunded.count(in: connection) }
        }
        note(result, unfunded: events, tookMilliseconds: pace.withRests(clock.monotonicMilliseconds - begin))
        pace = usual
      } catch {
        guard rest(0) else { return }
        // What fails because the database is away has not begun.
        if !error.isUnavailable { pace = usual }
        logger.limited(
          .warning, key: "reconcile", "the accounts could not be compared", ["error": .text(error.description)])
      }
    } while rest(Int64(intervalMilliseconds))
  }

  private func show(_ result: Reconciliation, logger: Logger) {
    for (rule, checks) in Dictionary(grouping: result.checks, by: \.rule) {
      let sum = checks.reduce(0) { $0 + $1.differences }
      context.metrics.gauge(Self.differences, ["rule": rule, "scope": "all"]).set(Double(sum))
    }
    for check in result.checks { check.tellDifference(to: logger, scope: "all") }
    for edge in result.notConsumed {
      context.metrics.gauge(Self.notConsumed, ["topic": edge.topic, "consumer": edge.consumer])
        .set(Double(edge.sequences))
    }
  }

  private func note(_ result: Reconciliation, unfunded: Int64, tookMilliseconds: Int64) {
    let figures = Figures(
      completed: context.clock.now, tookMilliseconds: tookMilliseconds, parked: result.parked, waiting: result.waiting,
      suspense: result.suspense, held: result.held, unfunded: unfunded)
    self.figures.withLock { $0 = figures }
  }
}
