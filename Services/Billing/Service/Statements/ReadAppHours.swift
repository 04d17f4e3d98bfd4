internal import AdCore
internal import BillingCore
internal import Postgres
internal import Runtime

/// What came of apps' latest hours in a partition, and no more of it than is remembered.
struct ReadAppHours: PostgresStatement {
  typealias Row = (key: AppHour, count: AppHourCount)

  static let sql = """
    SELECT app, hour, nullif(ad, ''), impressions, clicks FROM billing.app_hour
    WHERE partition = $1 AND hour >= $2 ORDER BY hour DESC LIMIT $3
    """
  let partition: Int32
  let now: Timestamp

  /// One more tells that there are more.
  var parameters: [any PostgresValue] {
    [partition, StoredAppHours.firstHour(now: now), Int64(StoredAppHours.readMaximum + 1)]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Row {
    (
      AppHour(app: try row.decode(0), hour: try row.decode(1), ad: try row.decode(2)),
      AppHourCount(impressions: try row.decode(3), clicks: try row.decode(4))
    )
  }
}

/// The same of the apps' hours, or their ads', that a batch asks for.
struct FindAppHours: PostgresStatement {
  static let sql = """
    SELECT stored.* FROM unnest($2::int[], $3::text[], $4::text[]) AS asked (hour, app, ad) CROSS JOIN LATERAL (
      SELECT app, hour, nullif(ad, ''), impressions, clicks FROM billing.app_hour
      WHERE partition = $1 AND hour = asked.hour AND app = asked.app AND ad = asked.ad
    ) AS stored
    """
  let partition: Int32
  let asked: Set<AppHour>

  var parameters: [any PostgresValue] {
    let keys = Array(asked)
    return [partition, keys.map(\.hour), keys.map(\.app), keys.map { $0.ad?.text ?? "" }]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> ReadAppHours.Row { try ReadAppHours.decode(row) }
}
