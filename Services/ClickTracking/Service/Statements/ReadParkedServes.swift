import AdCore
import Postgres
import Runtime

/// The serves of a partition that have parked clicks, and when their tokens expire.
struct ReadParkedServes: PostgresStatement {
  static let sql = """
    SELECT serve_id, max(expires_at) FROM click_tracking.parked WHERE partition = $1 GROUP BY serve_id
    """
  let partition: Int32

  var parameters: [any PostgresValue] { [partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (id: ServeID, expiresAt: Timestamp) {
    let expiresAt: PostgresTimestamp = try row.decode(1)
    return (try row.id(0), Timestamp(expiresAt))
  }
}
