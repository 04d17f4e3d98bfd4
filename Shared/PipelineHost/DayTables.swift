import AdCore
import Postgres
import Runtime
import Threads

/// Keeps the tables of days, at start and hourly, from two days back to three ahead, besides retention; and removes
/// what is older of a service's batches.
package enum DayTables {
  package static let retentionDays = ConfigurationKey<Int>.integer(
    "HANDBILL_RETENTION_DAYS", in: 3...36_500, default: 400, help: "How many days of events are kept.")

  private static let daysBack: Int32 = 2
  private static let daysAhead: Int32 = 3
  private static let intervalMilliseconds = 3_600_000
  /// Batches of each partition that one transaction removes.
  private static let batchesMaximum: Int32 = 5_000

  /// Keeps `tables` once, now, and then hourly on a thread of its own.
  ///
  /// - Throws: `PostgresError` when the first time fails.
  package static func keep(
    _ tables: [String], database: PostgresConfiguration, retentionDays: Int, context: ServiceContext
  ) throws(PostgresError) {
    try keepOnce(tables, database: database, retentionDays: retentionDays, now: context.clock.now)
    let stop = StopRequest()
    let logger = context.logger.named("day-tables")
    let clock = context.clock
    let thread = OwnerThread("day-tables") {
      while !stop.wait(milliseconds: intervalMilliseconds) {
        do throws(PostgresError) {
          try keepOnce(tables, database: database, retentionDays: retentionDays, now: clock.now)
        } catch {
          logger.error("the tables of coming days could not be made", ["error": .init(error.description)])
        }
      }
    }
    context.lifeCycle.onStop("day-tables") {
      stop.make()
      thread.join()
    }
  }

  private static func keepOnce(
    _ tables: [String], database: PostgresConfiguration, retentionDays: Int, now: Timestamp
  ) throws(PostgresError) {
    let connection = try PostgresConnection(database)
    defer { connection.close() }
    let today = PostgresDate(days: Int32(now.milliseconds / 86_400_000))
    for table in tables {
      _ = try connection.query(
        "SELECT public.keep_days($1::text::regclass, $2, $3, $4, $5)",
        [table, today, daysBack, daysAhead, Int32(retentionDays)])
    }
    // A day later than their rows, so that every row has its batch.
    let oldest = now.advanced(byMilliseconds: -(Int64(retentionDays) + 1) * 86_400_000)
    for schema in Set(tables.map { String($0.prefix { $0 != "." }) }) {
      var removed: Int64 = 1
      while removed > 0 {
        removed =
          try connection.query(
            "SELECT public.forget_batches($1, $2, $3)", [schema, oldest.postgres, batchesMaximum]
          ).first?.decode(0) ?? 0
      }
    }
  }
}
