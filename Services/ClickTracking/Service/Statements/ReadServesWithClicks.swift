internal import AdCore
internal import ClickTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// The next served ads of a partition on which clicks wait, in the order of their ids. Whether they were seen, the impressions
/// tell.
struct ReadServesWithClicks: PostgresStatement {
  /// The last moment that an id can tell.
  private static let lastMoment = Timestamp(milliseconds: 1 << 48 - 1)

  static let sql = """
    SELECT serve_id, max(expires_at) FROM click_tracking.parked
    WHERE partition = $1 AND serve_id > $2 AND serve_id <= $3 AND expires_at < $4
    GROUP BY serve_id ORDER BY serve_id LIMIT $5
    """
  let partition: Int32
  let page: UnseenPage.Query
  /// Their tokens expire before then.
  let expiry: Timestamp

  init(partition: Int32, page: UnseenPage.Query, expiry: Timestamp = lastMoment) {
    self.partition = partition
    self.page = page
    self.expiry = expiry
  }

  var parameters: [any PostgresValue] {
    // An ad is served before its token expires.
    [partition, page.after, IDBounds(from: expiry, to: expiry).highest, expiry, Int64(page.count)]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> UnseenServe {
    UnseenServe(serveID: try row.decode(0), expiresAt: try row.decode(1))
  }
}
