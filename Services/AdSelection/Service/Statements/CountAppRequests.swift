internal import AdCore
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// How many live requests of apps a partition has counted in the last hours. What is folded is older; of a pack three lists are
/// taken apart and not all, as `ad_selection.all_count` does, and the hour is reckoned of sums: of a million counts that takes
/// 0.8 s, where all of it by the view took 2.
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
    SELECT app, date_trunc('hour', minute, 'UTC'), sum(requests)::bigint FROM (
      SELECT app, minute, sum(requests) AS requests FROM counted WHERE NOT is_test GROUP BY 1, 2
    ) AS by_minute GROUP BY 1, 2
    """
  let partition: Int32
  let since: Timestamp

  var parameters: [any PostgresValue] { [partition, since] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (key: AppRequests.Key, requests: Int64) {
    (AppRequests.Key(app: try row.decode(0), at: try row.decode(1)), try row.decode(2))
  }
}
