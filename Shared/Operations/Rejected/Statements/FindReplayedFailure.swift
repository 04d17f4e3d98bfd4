internal import AdCore
internal import Postgres
internal import Runtime

/// Whether a failure without an ad is stored already.
struct FindReplayedFailure: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT EXISTS (SELECT FROM impression_tracking.failure WHERE request_id = $1 AND error = $2 AND partition = $3)
    """
  let partition: Int32
  let requestID: UUIDv7
  let error: AdError

  var parameters: [any PostgresValue] { [requestID, error, partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}
