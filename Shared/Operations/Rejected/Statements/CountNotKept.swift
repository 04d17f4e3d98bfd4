internal import AdCore
internal import Postgres
internal import Runtime

/// How many rejected records floods left without a row, in batches that have arrivals in the query's time.
struct CountNotKept: PostgresStatement {
  static let sql =
    "SELECT coalesce(sum(rejected_not_kept), 0)::bigint FROM ("
    + RejectedRecords.services.map { service in
      """
      SELECT rejected_not_kept FROM \(service.replacing("-", with: "_")).batch
      WHERE rejected_not_kept > 0 AND ($1::text IS NULL OR $1 = '\(service)')
        AND ($2::timestamptz IS NULL OR last_arrival >= $2) AND ($3::timestamptz IS NULL OR first_arrival < $3)
      """
    }.joined(separator: " UNION ALL ") + ") AS flooded"
  let query: RejectedQuery

  var parameters: [any PostgresValue] { [query.service, query.since, query.until] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int64 { try row.decode(0) }
}
