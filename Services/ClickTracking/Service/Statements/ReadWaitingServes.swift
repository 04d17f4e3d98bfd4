internal import AdCore
internal import ClickTrackingCore
internal import Postgres
internal import Runtime

/// The served ads of a partition on which clicks wait. Whether they were seen, the impressions tell.
struct ReadWaitingServes: PostgresStatement {
  static let sql = """
    SELECT serve_id, client_hash, is_test, max(expires_at), min(event_time), max(event_time)
    FROM click_tracking.parked WHERE partition = $1 GROUP BY serve_id, client_hash, is_test
    """
  let partition: Int32

  var parameters: [any PostgresValue] { [partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> WaitingServe {
    let first: Timestamp = try row.decode(4)
    return WaitingServe(
      serveID: try row.decode(0), client: ClickClient(hash: try row.decode(1), isTest: try row.decode(2)),
      expiresAt: try row.decode(3), eventTimes: first...max(first, try row.decode(5)), isSeen: false)
  }
}
