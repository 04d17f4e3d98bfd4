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

  static let isPrepared = false
  static let sql = """
    SELECT sequence, id_hash, verdict, event_time, arrival, \(TermsColumns.list)
    \(SequenceBatches.rows(of: "click_row", in: "click_tracking"))
    """
  let stored: SequenceRows

  var parameters: [any PostgresValue] { stored.parameters }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Click {
    Click(
      sequence: try row.decode(0),
      accepted: AcceptedClick(
        terms: try TermsColumns.decode(row, from: 5), idHash: try row.decode(1), eventTime: try row.decode(3),
        arrival: try row.decode(4), verdict: try row.decode(2)))
  }
}
