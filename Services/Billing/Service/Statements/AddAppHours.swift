internal import AdCore
internal import BillingCore
internal import Postgres
internal import Runtime

/// Adds what a batch saw of apps' hours to its partition's rows, which nobody else writes, and forgets the hours of which
/// nothing can come any more.
struct AddAppHours: PostgresStatement {
  static let sql = """
    WITH forgotten AS (
      DELETE FROM billing.app_hour WHERE partition = $1 AND hour <= $2 AND hour <> ALL ($3)
    )
    INSERT INTO billing.app_hour AS stored (partition, hour, app, ad, impressions, clicks)
    SELECT $1, added.* FROM unnest($3::int[], $4::text[], $5::text[], $6::bigint[], $7::bigint[]) AS added
    ON CONFLICT (partition, hour, app, ad) DO UPDATE SET
      impressions = stored.impressions + excluded.impressions, clicks = stored.clicks + excluded.clicks
    """
  let partition: Int32
  let counts: [AppHour: AppHourCount]

  var parameters: [any PostgresValue] {
    let rows = Array(counts)
    let latest = rows.map(\.key.hour).max() ?? 0
    return [
      partition, latest - AppHour.keptHours, rows.map(\.key.hour), rows.map(\.key.app),
      rows.map { $0.key.ad?.text ?? "" },
      rows.map(\.value.impressions), rows.map(\.value.clicks),
    ]
  }
}
