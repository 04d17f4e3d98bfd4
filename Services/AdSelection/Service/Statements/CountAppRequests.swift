internal import AdCore
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// How many live requests of apps a partition has counted in the last hours. Of a pack it takes three lists apart and not all
/// (as `ad_selection.all_count` does): a busy partition has a million counts in them. What is folded is older.
struct CountAppRequests: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    WITH counted AS (
      SELECT minute, app, requests, is_test FROM ad_selection.minute_count WHERE partition = $1 AND minute >= $2
      UNION ALL
      SELECT p.minute, c.* FROM ad_selection.packed_count p,
        unnest(p.app, p.requests, p.is_test) AS c (app, requests, is_test)
      WHERE p.partition = $1 AND p.minute >= $2
    )
    SELECT app, date_trunc('hour', minute, 'UTC'), sum(requests)::bigint FROM counted WHERE NOT is_test GROUP BY 1, 2
    """
  let partition: Int32
  let since: Timestamp

  var parameters: [any PostgresValue] { [partition, since] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (key: AppRequests.Key, requests: Int64) {
    (AppRequests.Key(app: try row.decode(0), at: try row.decode(1)), try row.decode(2))
  }
}
