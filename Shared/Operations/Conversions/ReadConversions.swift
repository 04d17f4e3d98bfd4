internal import AdCore
internal import Postgres
internal import Runtime

/// The latest conversions of an app, campaign or ad, or all, within whole days, and how many lines there are.
struct ReadConversions: PostgresStatement {
  /// A plan for any time would read the tables of all days.
  static let isPrepared = false
  static let sql = """
    SELECT day::text, advertiser, campaign, ad, app, told_by, kind, count(*), currency, sum(value)::numeric,
      count(*) OVER ()
    FROM click_tracking.counted_conversion
    WHERE ($1::text IS NULL OR app = $1) AND ($2::text IS NULL OR campaign = $2) AND ($3::text IS NULL OR ad = $3)
      AND day >= ($4::timestamptz AT TIME ZONE 'UTC')::date
      AND ($5::timestamptz IS NULL OR day < ($5 AT TIME ZONE 'UTC')::date)
      AND serve_id >= public.first_uuid_at($6) AND click_serve_id >= public.first_uuid_at($6)
    GROUP BY day, advertiser, campaign, ad, app, told_by, kind, currency
    ORDER BY day DESC, campaign, ad, app, told_by, kind, currency LIMIT $7
    """
  let query: ReportQuery
  /// The first of the days, or a moment of it.
  let from: Timestamp

  /// Of what was served before, nothing was told of these days.
  private var servedFrom: Timestamp {
    let day = from.milliseconds / Windows.dayMilliseconds - Windows.conversionDaysMaximum
    return Timestamp(milliseconds: max(0, day * Windows.dayMilliseconds))
  }

  var parameters: [any PostgresValue] {
    [
      query.filter[.app], query.filter[.campaign], query.filter[.ad], from, query.until, servedFrom,
      Int64(query.rowsMaximum),
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
