internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import Postgres
internal import Runtime

/// Decided clicks from a sequence on, in order. The batch rows say which batches they are in, and between which serve ids
/// the rows of those lie.
struct ReadClicks: PostgresStatement {
  struct Click {
    let sequence: Int64
    let accepted: AcceptedClick
  }

  static let sql = """
    WITH bounds AS (
      SELECT min(batch_number) AS first, max(batch_number) AS last, min(first_serve_id::text)::uuid AS first_id,
        max(last_serve_id::text)::uuid AS last_id
      FROM (
        SELECT batch_number, first_serve_id, last_serve_id FROM click_tracking.batch
        WHERE partition = $1 AND next_sequences[1] > $2 AND next_sequences[1] > first_sequences[1]
        ORDER BY next_sequences[1] LIMIT $3
      ) AS batches
    )
    SELECT sequence, id_hash, verdict, event_time, arrival, \(TermsColumns.list)
    FROM click_tracking.click, bounds
    WHERE serve_id BETWEEN bounds.first_id AND bounds.last_id
      AND partition = $1 AND batch_number BETWEEN bounds.first AND bounds.last AND sequence >= $2
    ORDER BY sequence LIMIT $3
    """
  let partition: Int32
  let from: Int64
  let limit: Int

  var parameters: [any PostgresValue] { [partition, from, Int64(limit)] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Click {
    let hash: Int64 = try row.decode(1)
    let verdict: Int16 = try row.decode(2)
    let eventTime: PostgresTimestamp = try row.decode(3)
    let arrival: PostgresTimestamp = try row.decode(4)
    return Click(
      sequence: try row.decode(0),
      accepted: AcceptedClick(
        terms: try TermsColumns.decode(row, from: 5), idHash: UInt64(bitPattern: hash), eventTime: Timestamp(eventTime),
        arrival: Timestamp(arrival),
        verdict: try TermsColumns.known(ClickVerdict(rawValue: UInt8(clamping: verdict)), 2)))
  }
}
