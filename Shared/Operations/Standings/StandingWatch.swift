internal import AdCore
package import Postgres
package import Runtime

/// Measures apps' standings again and again while the console runs (A7), and exports how many apps are lowered.
package final class StandingWatch: Sendable {
  package static let loweredApps = MetricDeclaration.gauge(
    "handbill_lowered_apps", help: "Apps that are offered less for the ads' actions that they stop (A7).")

  package static let interval = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_STANDING_INTERVAL", in: 1_000...86_400_000, default: 600_000,
    help: "Between two passes over what apps let become of ads' actions, by which they are offered more or less (A7).")

  private let standings: Standings
  private let intervalMilliseconds: Int
  private let context: ServiceContext

  private init(standings: Standings, intervalMilliseconds: Int, context: ServiceContext) {
    self.standings = standings
    self.intervalMilliseconds = intervalMilliseconds
    self.context = context
  }

  /// Starts on a thread of its own, until the service stops.
  ///
  /// - Parameter pool: connections that may call `catalog.set_standings`.
  package static func start(pool: PostgresPool, intervalMilliseconds: Int, context: ServiceContext) {
    let watch = StandingWatch(
      standings: Standings(pool), intervalMilliseconds: intervalMilliseconds, context: context)
    context.lifeCycle.startRounds("standings") { watch.run(rest: $0) }
  }

  private func run(rest: (Int64) -> Bool) {
    let logger = context.logger.named("standings")
    Rounds.note("standings", in: context)
    repeat {
      do throws(PostgresError) {
        let pass = try standings.measure(now: context.clock.now)
        context.metrics.gauge(Self.loweredApps).set(Double(pass.loweredApps))
        Rounds.note("standings", in: context)
        if pass.changes > 0 {
          logger.notice(
            "apps are offered more or less, by the ads' actions that they stop (A7)",
            ["changes": LogValue(Int(pass.changes)), "lowered": LogValue(pass.loweredApps)])
        }
      } catch {
        logger.limited(
          .warning, key: "standings", "apps' standings could not be measured: their offers stay as they are",
          ["error": .text(error.description)])
      }
    } while rest(Int64(intervalMilliseconds))
  }
}
