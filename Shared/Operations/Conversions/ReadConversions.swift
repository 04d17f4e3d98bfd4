internal import AdCore
internal import Postgres
internal import Runtime

/// The latest conversions of an app, campaign or ad, or all, within a time, and how many lines there are.
struct ReadConversions: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT day::text, advertiser, campaign, ad, app, told_by, kind, conversions, currency, value_nanos, count(*) OVER ()
    FROM reporting.conversion
    WHERE ($1::text IS NULL OR app = $1) AND ($2::text IS NULL OR campaign = $2) AND ($3::text IS NULL OR ad = $3)
      AND ($4::timestamptz IS NULL OR day >= ($4 AT TIME ZONE 'UTC')::date)
      AND ($5::timestamptz IS NULL OR day < ($5 AT TIME ZONE 'UTC')::date)
    ORDER BY day DESC, campaign, ad, app, told_by, kind, currency LIMIT $6
    """
  let query: ReportQuery

  var parameters: [any PostgresValue] {
    [
      query.filter[.app], query.filter[.campaign], query.filter[.ad], query.from, query.until, Int64(query.rowsMaximum),
    ]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (row: ConversionRow, total: Int64) {
    let conversion = ConversionRow(
      day: try row.decode(0), advertiser: try row.decode(1), campaign: try row.decode(2), ad: try row.decode(3),
      app: try row.decode(4), toldBy: try row.decode(5), kind: try row.decode(6), conversions: try row.decode(7),
      currency: try row.decode(8), value: try row.decode(9))
    return (conversion, try row.decode(10))
  }
}
