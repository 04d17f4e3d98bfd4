internal import AdCore
internal import ClickTrackingCore
internal import Postgres
internal import Runtime

/// The next served ads of a partition on which clicks wait, those that expire first. Whether they were seen, the impressions
/// tell. Not prepared: a plan that is made while few wait would sort all of them later.
struct ReadServesWithClicks: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT serve_id, expires_at FROM click_tracking.parked_row
    WHERE partition = $1 AND (expires_at, serve_id) > ($2, $3) AND ($4::timestamptz IS NULL OR expires_at < $4)
    GROUP BY expires_at, serve_id ORDER BY expires_at, serve_id LIMIT $5
    """
  let partition: Int32
  let page: UnseenPage.Query
  /// Their tokens expire before then; nil where that does not matter.
  var expiry: Timestamp?

  var parameters: [any PostgresValue] {
    [partition, page.after.expiresAt, page.after.serveID, expiry, Int64(page.count)]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> UnseenServe {
    UnseenServe(serveID: try row.decode(0), expiresAt: try row.decode(1))
  }
}
