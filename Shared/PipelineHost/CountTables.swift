internal import AdCore
internal import Postgres
internal import Runtime

/// The tables that a service counts into: minutes are folded into hours, and those into days, which are dropped when they are
/// old; and all are rolled up by one dimension each, for ever. Sums of what there is never change by it.
package struct CountTables: Sendable {
  /// Days of minutes that are made ahead.
  private static let daysAhead: Int64 = 3
  /// So many counts are rolled up together, or an hour after the last time. What is rolled up costs a row of the database for
  /// each value of each dimension; what is not costs its readers some 5 us each. A tenth of a second's work: who stops a service
  /// waits for it.
  private static let countsRolledUp: Int64 = 20_000

  private let schema: String
  private let unrolled: String
  private let minutes: String
  /// Many of their rows in one.
  private let packed: String
  private let hours: String
  private let days: String
  private let retention: Retention

  /// - Parameters:
  ///   - schema: the service's.
  ///   - kind: the last part of the tables' names: `count`, or `revenue`.
  package init(_ schema: String, _ kind: String = "count", retention: Retention) {
    self.schema = schema
    unrolled = "\(schema).unrolled_\(kind)"
    minutes = "\(schema).minute_\(kind)"
    packed = "\(schema).packed_\(kind)"
    hours = "\(schema).hour_\(kind)"
    days = "\(schema).day_\(kind)"
    self.retention = retention
  }

  /// Makes the tables that are missing, and drops those that have no rows any more.
  func maintain(_ connection: PostgresConnection, now: Timestamp) throws(PostgresError) {
    let oldestMinute = Self.beginning(of: now, daysBack: retention.minuteDays)
    let oldestHour = Self.beginning(of: now, daysBack: retention.hourDays)
    for (table, step, oldest, newest) in [
      (minutes, "day", oldestMinute, now), (packed, "day", oldestMinute, now), (hours, "month", oldestHour, now),
      // Hours are folded into days when they are as old.
      (days, "month", oldestHour, oldestHour),
    ] {
      let ahead = newest.advanced(byMilliseconds: Self.daysAhead * Self.dayMilliseconds)
      _ = try connection.query(
        "SELECT public.keep_count_tables($1::text::regclass, $2, $3, $4)",
        [table, step, oldest.postgres, ahead.postgres])
    }
  }

  /// Rolls up what is counted since the last time, where that is worth it.
  ///
  /// - Parameters:
  ///   - fewest: so many counts are worth it.
  ///   - most: about so many are rolled up by one transaction.
  ///   - goOn: asked between two of them.
  func rollUp(
    _ connection: PostgresConnection, fewest: Int64 = Self.countsRolledUp, most: Int64 = Self.countsRolledUp,
    while goOn: () -> Bool = { true }
  ) throws(PostgresError) {
    let sql = "SELECT public.roll_up_counts($1, $2, $3)"
    while goOn(), try connection.query(sql, [schema, fewest, most]).first?.decode(0) == true {}
  }

  /// Whether there are counts that should have been rolled up an hour ago: a transaction that has been open for as long keeps
  /// all later ones waiting.
  func areRollupsHeldUp(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
    let sql = """
      SELECT rolled_up_at < now() - interval '2 hours' AND EXISTS (SELECT FROM \(unrolled))
      FROM pipeline.rollup WHERE service = $1
      """
    return try connection.query(sql, [schema]).first?.decode(0) ?? false
  }

  /// Folds rollups of old minutes into those of hours, and of old hours into those of days.
  func foldRollups(_ connection: PostgresConnection, now: Timestamp) throws(PostgresError) {
    let oldest = [retention.minuteDays, retention.hourDays].map { Self.beginning(of: now, daysBack: $0).postgres }
    let sql = "SELECT public.fold_rollups($1, $2, $3)"
    while try connection.query(sql, [schema] + oldest).first?.decode(0) == true {}
  }

  /// Folds what is old enough and rolled up: in each transaction some of one partition's rows of one hour, or of one day. Then
  /// drops what is too old to be kept by the day.
  func fold(_ connection: PostgresConnection, now: Timestamp) throws(PostgresError) {
    let oldestMinute = Self.beginning(of: now, daysBack: retention.minuteDays)
    for (source, target, unit, before) in [
      (minutes, hours, "hour", oldestMinute), (packed, hours, "hour", oldestMinute),
      (hours, days, "day", Self.beginning(of: now, daysBack: retention.hourDays)),
    ] {
      // From where the last one was: what was deleted before that is not looked through again.
      var since: PostgresTimestamp? = Timestamp(milliseconds: 0).postgres
      while let first = since {
        since =
          try connection.query(
            "SELECT public.fold_counts($1::text::regclass, $2::text::regclass, $3, $4, $5)",
            [source, target, unit, first, before.postgres]
          ).first?.decode(0) ?? nil
      }
    }
    try drop(connection, now: now)
  }

  /// Drops months of days that are old enough, sealed, and folded: what is left of them are rollups.
  private func drop(_ connection: PostgresConnection, now: Timestamp) throws(PostgresError) {
    let oldest = Self.beginning(of: now, daysBack: retention.dayDays).postgres
    while try connection.query("SELECT public.drop_counts($1, $2)", [schema, oldest]).first?.decode(0) == true {}
  }

  private static let dayMilliseconds: Int64 = 86_400_000

  /// When the day began, UTC, that was so many days ago.
  private static func beginning(of now: Timestamp, daysBack: Int) -> Timestamp {
    Timestamp(milliseconds: (now.milliseconds / dayMilliseconds - Int64(daysBack)) * dayMilliseconds)
  }
}
