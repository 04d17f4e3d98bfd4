internal import Postgres
internal import Runtime

/// Rolls up what a service counts, on a thread and a connection of its own. Several processes may: one works, the others go on
/// waiting.
struct Rollups: Sendable {
  private static let intervalMilliseconds: Int64 = 15_000

  private let counts: CountTables

  init(_ counts: CountTables) { self.counts = counts }

  /// Goes on until the service stops.
  func start(database: PostgresConfiguration, context: ServiceContext) {
    let logger = context.logger.named("rollups")
    context.lifeCycle.startRounds("rollups") { rest in
      var connection: PostgresConnection?
      while rest(Self.intervalMilliseconds) {
        do throws(PostgresError) {
          let connected = if let connection { connection } else { try PostgresConnection(database) }
          connection = connected
          try counts.rollUp(connected) { rest(0) }
          if try counts.areRollupsHeldUp(connected) {
            logger.limited(
              .warning, key: "held-up",
              "counts of the last hours are not rolled up, and reports read them one by one: end the transaction that has been "
                + "open for so long, in whatever database of the server (pg_stat_activity, pg_prepared_xacts)")
          }
        } catch {
          connection?.close()
          connection = nil
          logger.limited(
            .error, key: "rollups", "counts could not be rolled up: reports read them one by one until it can be done",
            ["error": .init(error.description)])
        }
      }
      connection?.close()
    }
  }
}
