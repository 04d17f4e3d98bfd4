internal import AdCore
internal import BillingCore
internal import Postgres
internal import Runtime

/// What came of apps' last hours in a partition.
struct ReadAppHours: PostgresStatement {
  static let sql = "SELECT app, hour, nullif(ad, ''), impressions, clicks FROM billing.app_hour WHERE partition = $1"
  let partition: Int32

  var parameters: [any PostgresValue] { [partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (key: AppHour, count: AppHourCount) {
    (
      AppHour(app: try row.decode(0), hour: try row.decode(1), ad: try row.decode(2)),
      AppHourCount(impressions: try row.decode(3), clicks: try row.decode(4))
    )
  }
}
