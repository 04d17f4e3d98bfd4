internal import AdCore
internal import AdSelectionCore
internal import Postgres

/// How many test requests each client of a partition has made, of at most so many clients.
struct CountTestRequests: PostgresStatement {
  static let sql = """
    SELECT client_hash, count(*) FROM ad_selection.decision_row
    WHERE partition = $1 AND is_test AND reason = ANY ($2) GROUP BY client_hash LIMIT $3
    """
  let partition: Int32

  var parameters: [any PostgresValue] {
    let reasons = DecisionReason.allCases.filter(\.countsForTestSequence)
    return [partition, reasons, Int64(TestSequence.clientsMaximum)]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (client: UInt64, requests: UInt64) {
    let requests: Int64 = try row.decode(1)
    return (try row.decode(0), UInt64(clamping: requests))
  }
}
