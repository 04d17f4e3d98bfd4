internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Decided clicks from a sequence on, in order.
struct ReadClicks: PostgresStatement {
  struct Click {
    let sequence: Int64
    let accepted: AcceptedClick
  }

  static let sql = """
    \(SequenceBatches.bounds("click_tracking"))
    SELECT sequence, id_hash, verdict, event_time, arrival, \(TermsColumns.list)
    FROM click_tracking.click, bounds
    WHERE \(SequenceBatches.condition)
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
