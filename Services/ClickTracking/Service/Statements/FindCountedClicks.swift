import AdCore
import ClickTrackingCore
import Postgres
import Runtime

/// When clicks of these clients that count happened, within each client's span. The limits themselves bound how many
/// there can be; the limit of the statement keeps the plan at one look into the index for each client.
struct FindCountedClicks: PostgresStatement {
  static let sql = """
    SELECT asked.client_hash, counted.event_time
    FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[]) AS asked (client_hash, first, last),
    LATERAL (
      SELECT stored.event_time FROM click_tracking.click AS stored
      WHERE stored.client_hash = asked.client_hash AND stored.event_time BETWEEN asked.first AND asked.last
        AND stored.verdict = 1 AND stored.serve_id BETWEEN $4 AND $5
      LIMIT 10000
    ) AS counted
    """
  let clients: [UInt64: ClosedRange<Timestamp>]
  let windows: Windows

  var parameters: [any PostgresValue] {
    let rows = Array(clients)
    let first = rows.map(\.value.lowerBound).min() ?? Timestamp(milliseconds: 0)
    let last = rows.map(\.value.upperBound).max() ?? first
    // An ad is served before its click, and not longer before than any token may be old.
    let oldest = first.advanced(
      byMilliseconds: -windows.issuedBeforeArrivalMilliseconds - windows.clockToleranceMilliseconds)
    let bounds = IDBounds(from: oldest, to: last)
    return [
      rows.map { Int64(bitPattern: $0.key) }, rows.map(\.value.lowerBound.postgres),
      rows.map(\.value.upperBound.postgres), bounds.lowest, bounds.highest,
    ]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (client: UInt64, time: Timestamp) {
    let client: Int64 = try row.decode(0)
    let time: PostgresTimestamp = try row.decode(1)
    return (UInt64(bitPattern: client), Timestamp(time))
  }
}
