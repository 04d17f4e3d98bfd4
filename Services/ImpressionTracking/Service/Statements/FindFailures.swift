internal import AdCore
internal import Postgres
internal import Runtime

/// Which of these requests have this error stored.
struct FindFailures: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT request_id FROM impression_tracking.failure WHERE request_id = ANY ($1) AND error = $2 AND partition = $3
    """
  let partition: Int32
  let ids: Set<UUIDv7>
  let error: AdError
  var parameters: [any PostgresValue] { [Array(ids), error, partition] }
  static func decode(_ row: PostgresRow) throws(PostgresError) -> UUIDv7 { try row.decode(0) }
}
