internal import AdCore
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// How many live requests of apps a partition has counted in the last hours.
struct CountAppRequests: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT app, date_trunc('hour', minute, 'UTC'), sum(requests)::bigint FROM ad_selection.all_count
    WHERE partition = $1 AND minute >= $2 AND NOT is_test GROUP BY 1, 2
    """
  let partition: Int32
  let since: Timestamp

  var parameters: [any PostgresValue] { [partition, since] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (key: AppRequests.Key, requests: Int64) {
    (AppRequests.Key(app: try row.decode(0), at: try row.decode(1)), try row.decode(2))
  }
}
