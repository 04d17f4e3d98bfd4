internal import AdCore
package import Postgres
package import Runtime
internal import Synchronization

/// Seals days while the console runs, and is loud about a day that cannot be sealed: its rows stay, and fill the disk.
package final class SealWatch: Sendable {
  package static let sealedUntil = MetricDeclaration.gauge(
    "handbill_sealed_until_timestamp_seconds",
    help: "The rows of days before may be dropped: their sums are kept. In seconds since 1970.")
  package static let sealBacklog = MetricDeclaration.gauge(
    "handbill_seal_backlog",
    help: """
      Days that could be sealed by now and are not: because accounts differ, or because something is still to come of \
      them or others are sealed first.
      """,
    labels: ["reason"])
  /// Every metric that it shows.
  package static let metrics = [sealedUntil, sealBacklog]

  /// Between two passes.
  private static let pauseMilliseconds: Int64 = 600_000

  private let pool: PostgresPool
  private let context: ServiceContext
  private let until = Mutex<Timestamp?>(nil)

  init(pool: PostgresPool, context: ServiceContext) {
    self.pool = pool
    self.context = context
  }

  /// Starts on a thread of its own, until the service stops.
  ///
  /// - Parameter pool: connections that may write the schema `sealed`.
  package static func start(pool: PostgresPool, context: ServiceContext) {
    let watch = SealWatch(pool: pool, context: context)
    context.metrics.sample(sealedUntil) { watch.until.withLock { $0.map { Double($0.milliseconds) / 1_000 } } }
    context.lifeCycle.startRounds("sealing") { watch.run(rest: $0) }
  }

  /// Seals what can be, and looks again and again whether more can.
  ///
  /// - Parameter rest: waits so many milliseconds; false: the process stops.
  func run(rest: @escaping @Sendable (Int64) -> Bool) {
    let pace = ComparisonPace(clock: context.clock, rest: rest)
    var isBehind = false
    repeat {
      // While days wait for one another they are sealed without rests; one that cannot be sealed is tried again with them.
      let sealer = DaySealer(pool, pace: isBehind ? pace.hurried : pace)
      isBehind = sealNext(sealer, isStopping: { !rest(0) })
    } while rest(isBehind ? 0 : Self.pauseMilliseconds)
  }

  /// Whether another one is to be sealed.
  private func sealNext(_ sealer: DaySealer, isStopping: () -> Bool) -> Bool {
    let logger = context.logger.named("sealing")
    do throws(PostgresError) {
      let result = try sealer.sealNext(now: context.clock.now)
      tell(result, to: logger)
      if case .sealed(_, let due) = result {
        forgetOldest(logger)
        return due > 0
      }
    } catch {
      guard !isStopping() else { return false }
      logger.limited(.warning, key: "seal", "no day could be sealed", ["error": .text(error.description)])
    }
    return false
  }

  /// Once for each day that is sealed: services drop the oldest one within the hour, and these go with it.
  private func forgetOldest(_ logger: Logger) {
    func attempt(_ rows: String, _ forget: () throws(PostgresError) -> Int) {
      do throws(PostgresError) { _ = try forget() } catch {
        logger.limited(
          .warning, key: rows, "\(rows) of days that are gone stay for now; the next sealed day takes them",
          ["error": .text(error.description)])
      }
    }
    attempt("versions of the catalogue") { () throws(PostgresError) in try CatalogHistory.forget(pool) }
    attempt("flags of unusual traffic") { () throws(PostgresError) in try Anomalies(pool).forget() }
  }

  private func tell(_ result: DaySealer.Result, to logger: Logger) {
    var (differing, waiting): (Int64, Int64) = (0, 0)
    switch result {
    case .sealed(let until, let due):
      self.until.withLock { $0 = until }
      // Nothing is known yet against the next one.
      waiting = due
      logger.notice("a day was sealed", ["until": .text(until.utcText)])
    case .nothingDue(let until): self.until.withLock { $0 = until }
    // Whoever is at it shows its own.
    case .busy: break
    case .notYet(let day, let due, let obstacles):
      waiting = due
      logger.limited(
        due > 1 ? .error : .notice, key: "waits",
        "a day is not sealed yet and its rows are kept: bring what is behind up to date, and settle what waits",
        ["day": .text(day.utcText), "because": .text(obstacles.joined(separator: "; "))])
    case .differs(let day, let due, let checks):
      differing = due
      for check in checks {
        logger.limited(
          .error, key: "differs-\(check.rule)-\(check.name)",
          "a day cannot be sealed, since accounts differ, and its rows are kept: find the cause with 'handbill reconcile' "
            + "and 'handbill explain', pay nobody until it is known",
          [
            "day": .text(day.utcText), "rule": .text(check.rule), "check": .text(check.name),
            "differences": LogValue(Int(check.differences)),
            "examples": .text(check.examples.joined(separator: "; ")),
          ])
      }
    }
    context.metrics.gauge(Self.sealBacklog, ["reason": "difference"]).set(Double(differing))
    context.metrics.gauge(Self.sealBacklog, ["reason": "waits"]).set(Double(waiting))
  }
}
