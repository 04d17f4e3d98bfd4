internal import AdCore
internal import Postgres
internal import Runtime

/// How many requests came without the key of the app they name, in the whole network, on the days (UTC) that a report's
/// time touches (M1, A1).
struct ReadRequestsWithoutAppKey: PostgresStatement {
  static let sql = """
    SELECT coalesce(sum(requests), 0)::bigint FROM reporting.requests_without_app_key
    WHERE ($1::timestamptz IS NULL OR day >= ($1 AT TIME ZONE 'UTC')::date)
      AND ($2::timestamptz IS NULL OR day < $2 AT TIME ZONE 'UTC')
    """
  let query: ReportQuery

  var parameters: [any PostgresValue] { [query.from, query.until] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int64 { try row.decode(0) }
}
