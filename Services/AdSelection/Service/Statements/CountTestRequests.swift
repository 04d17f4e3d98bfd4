internal import AdCore
internal import AdSelectionCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// How many test requests each client of a partition has made on a day: of more clients than can be counted, those that
/// asked last.
struct CountTestRequests: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT client_hash, count(*) FROM ad_selection.decision_row
    WHERE partition = $1 AND is_test AND reason = ANY ($2) AND serve_id BETWEEN $4 AND $5
    GROUP BY client_hash ORDER BY max(serve_id::text) DESC LIMIT $3
    """
  let partition: Int32
  /// Days since the start of 1970, UTC.
  let day: Int64

  var parameters: [any PostgresValue] {
    let reasons = DecisionReason.allCases.filter(\.countsForTestSequence)
    let start = Timestamp(milliseconds: day * Windows.dayMilliseconds)
    let ids = IDBounds(from: start, to: start.advanced(byMilliseconds: Windows.dayMilliseconds - 1))
    return [partition, reasons, Int64(SelectionMemory.readTestClientsMaximum), ids.lowest, ids.highest]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (client: UInt64, requests: UInt64) {
    let requests: Int64 = try row.decode(1)
    return (try row.decode(0), UInt64(clamping: requests))
  }
}
