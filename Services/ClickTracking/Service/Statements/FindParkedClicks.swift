import AdCore
import ClickTrackingCore
import Postgres
import Runtime

/// The parked clicks of these serves.
struct FindParkedClicks: PostgresStatement {
  static let sql = """
    SELECT id_hash, is_accidental, event_time, arrival, batch_number, record_offset, \(TermsColumns.list)
    FROM click_tracking.parked WHERE serve_id = ANY ($1) ORDER BY batch_number, record_offset
    """
  let ids: [ServeID]

  var parameters: [any PostgresValue] { [ids.map(\.postgres)] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> ParkedClick {
    let hash: Int64 = try row.decode(0)
    let eventTime: PostgresTimestamp = try row.decode(2)
    let arrival: PostgresTimestamp = try row.decode(3)
    return ParkedClick(
      terms: try TermsColumns.decode(row, from: 6), idHash: UInt64(bitPattern: hash), eventTime: Timestamp(eventTime),
      arrival: Timestamp(arrival), isAccidental: try row.decode(1), batchNumber: try row.decode(4),
      offset: try row.decode(5))
  }
}
