internal import AdCore
package import Postgres
package import Runtime

/// Flags apps' hours again and again while the console runs, and exports how many apps are flagged.
package final class AnomalyWatch: Sendable {
  package static let flaggedApps = MetricDeclaration.gauge(
    "handbill_anomalous_apps", help: "Apps with a flag of unusual traffic in the last three hours.", labels: ["kind"])

  package static let interval = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_ANOMALY_INTERVAL", in: 1_000...86_400_000, default: 300_000,
    help: """
      Between two passes over apps' traffic of the last three hours, once an hour of the last 26, for flags of what is unusual.
      """)

  /// An event may come a day late, and so change an hour of that long ago: once an hour all of these are looked through, and
  /// else those that are shown.
  private static let hoursFlagged: Int64 = 26
  private static let hoursShown: Int64 = 3
  private static let hourMilliseconds: Int64 = 3_600_000

  private let anomalies: Anomalies
  private let limits: AnomalyLimits
  private let intervalMilliseconds: Int
  private let context: ServiceContext

  private init(anomalies: Anomalies, limits: AnomalyLimits, intervalMilliseconds: Int, context: ServiceContext) {
    self.anomalies = anomalies
    self.limits = limits
    self.intervalMilliseconds = intervalMilliseconds
    self.context = context
  }

  /// Starts watching on a thread of its own, until the service stops.
  ///
  /// - Parameter pool: connections that may write `console.anomaly`.
  package static func start(
    pool: PostgresPool, limits: AnomalyLimits, intervalMilliseconds: Int, context: ServiceContext
  ) {
    let watch = AnomalyWatch(
      anomalies: Anomalies(pool), limits: limits, intervalMilliseconds: intervalMilliseconds, context: context)
    context.lifeCycle.startRounds("anomalies") { watch.run(rest: $0) }
  }

  private func run(rest: (Int64) -> Bool) {
    let logger = context.logger.named("anomalies")
    var flaggedFrom: Timestamp?
    Rounds.note("anomalies", in: context)
    repeat {
      do throws(PostgresError) {
        let all = hour(ago: Self.hoursFlagged)
        try anomalies.flag(since: flaggedFrom == all ? hour(ago: Self.hoursShown) : all, limits: limits)
        flaggedFrom = all
        let apps = try anomalies.flaggedApps(since: hour(ago: Self.hoursShown))
        for kind in AnomalyKind.allCases {
          context.metrics.gauge(Self.flaggedApps, ["kind": "\(kind)"]).set(Double(apps["\(kind)"] ?? 0))
        }
        Rounds.note("anomalies", in: context)
      } catch {
        logger.limited(
          .warning, key: "anomalies", "apps' traffic could not be flagged", ["error": .text(error.description)])
      }
    } while rest(Int64(intervalMilliseconds))
  }

  /// The beginning of the hour that lies so many hours back.
  private func hour(ago hours: Int64) -> Timestamp {
    let current = context.clock.now.milliseconds / Self.hourMilliseconds
    return Timestamp(milliseconds: (current - hours) * Self.hourMilliseconds)
  }
}
