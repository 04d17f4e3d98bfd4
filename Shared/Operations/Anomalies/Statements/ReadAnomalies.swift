internal import AdCore
internal import Postgres
internal import Runtime

/// The latest flags of an app or all, within a time, and how many there are.
struct ReadAnomalies: PostgresStatement {
  static let sql = """
    SELECT app, hour, kind, events, of_events, percent::text, limit_percent::text, found_at,
      count(*) OVER ()
    FROM reporting.anomaly
    WHERE ($1::text IS NULL OR app = $1) AND ($2::timestamptz IS NULL OR hour >= $2)
      AND ($3::timestamptz IS NULL OR hour < $3)
    ORDER BY hour DESC, app, kind LIMIT $4
    """
  let query: ReportQuery

  var parameters: [any PostgresValue] {
    [query.filter[.app], query.from, query.until, Int64(query.rowsMaximum)]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (flag: Anomaly, total: Int64) {
    let flag = Anomaly(
      app: try row.decode(0), hour: try row.decode(1), kind: try row.decode(2), events: try row.decode(3),
      ofEvents: try row.decode(4), percent: try row.decode(5), limitPercent: try row.decode(6),
      foundAt: try row.decode(7))
    return (flag, try row.decode(8))
  }
}
