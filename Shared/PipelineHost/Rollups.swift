internal import Postgres
internal import Runtime
internal import Threads

/// Rolls up what a service counts, a few times a minute. Several processes may: one works, the others go on waiting.
struct Rollups: Sendable {
  private static let intervalMilliseconds = 15_000

  private let counts: CountTables

  init(_ counts: CountTables) { self.counts = counts }

  /// Goes on until the service stops, on a thread and a connection of its own.
  func start(database: PostgresConfiguration, context: ServiceContext) {
    let stop = StopRequest()
    let logger = context.logger.named("rollups")
    let thread = OwnerThread("rollups") {
      var connection: PostgresConnection?
      while !stop.wait(milliseconds: Self.intervalMilliseconds) {
        do throws(PostgresError) {
          let connected = if let connection { connection } else { try PostgresConnection(database) }
          connection = connected
          try counts.rollUp(connected)
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
    context.lifeCycle.onStop("rollups") {
      stop.make()
      thread.join()
    }
  }
}
