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

  static let sql = """
    \(SequenceBatches.bounds("impression_tracking"))
    SELECT sequence, event_time, arrival, \(TermsColumns.list)
    \(SequenceBatches.rows(of: "impression_row", in: "impression_tracking"))
    """
  let partition: Int32
  let from: Int64
  let limit: Int

  var parameters: [any PostgresValue] { [partition, from, Int64(limit)] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Impression {
    Impression(
      sequence: try row.decode(0),
      accepted: AcceptedImpression(
        terms: try TermsColumns.decode(row, from: 3), eventTime: try row.decode(1), arrival: try row.decode(2)))
  }
}
