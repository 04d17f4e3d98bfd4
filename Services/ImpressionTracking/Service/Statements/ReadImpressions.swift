internal import AdCore
internal import AdEvents
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Accepted impressions from a sequence on, in order.
struct ReadImpressions: PostgresStatement {
  struct Impression {
    let sequence: Int64
    let accepted: AcceptedImpression
  }

  static let isPrepared = false
  static let sql = """
    SELECT sequence, event_time, arrival, \(TermsColumns.list)
    \(SequenceBatches.rows(of: "impression_row", in: "impression_tracking"))
    """
  let stored: SequenceRows

  var parameters: [any PostgresValue] { stored.parameters }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Impression {
    Impression(
      sequence: try row.decode(0),
      accepted: AcceptedImpression(
        terms: try TermsColumns.decode(row, from: 3), eventTime: try row.decode(1), arrival: try row.decode(2)))
  }
}
