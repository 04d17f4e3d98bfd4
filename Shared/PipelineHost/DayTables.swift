internal import AdCore
internal import Postgres
internal import Runtime
internal import Threads

/// Maintains the tables of days, from two days back to three ahead, besides retention; removes what is older of a
/// service's batches; and folds its counts. At its start a service makes the tables that are missing; all else is done a minute later, and then
/// hourly, or a minute later again where it could not be done.
package struct DayTables: Sendable {
  private static let daysBack: Int32 = 2
  private static let daysAhead: Int32 = 3
  private static let firstMilliseconds = 60_000
  private static let intervalMilliseconds = 3_600_000
  /// Batches of each partition that one transaction removes.
  private static let batchesMaximum: Int32 = 5_000

  private let tables: [String]
  private let counts: CountTables
  private let retentionDays: Int

  /// - Parameters:
  ///   - tables: cut by day.
  ///   - counts: what the service counts into.
  package init(_ tables: [String], counts: CountTables, retention: Retention) {
    self.tables = tables
    self.counts = counts
    retentionDays = retention.eventDays
  }

  /// Goes on maintaining them, on a thread of its own.
  func start(database: PostgresConfiguration, context: ServiceContext) {
    let stop = StopRequest()
    let logger = context.logger.named("day-tables")
    let clock = context.clock
    let thread = OwnerThread("day-tables") {
      var pause = Self.firstMilliseconds
      while !stop.wait(milliseconds: pause) {
        do throws(PostgresError) {
          let connection = try PostgresConnection(database)
          defer { connection.close() }
          try maintain(connection, now: clock.now)
          try forget(connection, now: clock.now)
          try counts.fold(connection, now: clock.now)
          pause = Self.intervalMilliseconds
        } catch {
          pause = Self.firstMilliseconds
          logger.error("the tables of days could not be maintained", ["error": .init(error.description)])
        }
      }
    }
    context.lifeCycle.onStop("day-tables") {
      stop.make()
      thread.join()
    }
  }

  /// Makes the tables that are missing, and drops those beyond retention.
  func maintain(_ connection: PostgresConnection, now: Timestamp) throws(PostgresError) {
    let today = PostgresDate(days: Int32(now.milliseconds / 86_400_000))
    for table in tables {
      _ = try connection.query(
        "SELECT public.keep_days($1::text::regclass, $2, $3, $4, $5)",
        [table, today, Self.daysBack, Self.daysAhead, Int32(retentionDays)])
    }
    try counts.maintain(connection, now: now)
  }

  private func forget(_ connection: PostgresConnection, now: Timestamp) throws(PostgresError) {
    // A day later than their rows, so that every row has its batch.
    let oldest = now.advanced(byMilliseconds: -(Int64(retentionDays) + 1) * 86_400_000)
    for schema in Set(tables.map { String($0.prefix { $0 != "." }) }) {
      _ = try connection.query("SELECT public.forget_terms($1)", [schema])
      var removed: Int64 = 1
      while removed > 0 {
        removed =
          try connection.query(
            "SELECT public.forget_batches($1, $2, $3)", [schema, oldest, Self.batchesMaximum]
          ).first?.decode(0) ?? 0
      }
    }
  }
}
