internal import AdCore
internal import Postgres

/// Errors that a device told of a request that got no ad (E1, E5, E6), as JSON objects.
struct ReadToldErrors: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT to_jsonb(f) FROM impression_tracking.failure f WHERE request_id = $1 ORDER BY arrival, error
    """
  let requestID: UUIDv7

  var parameters: [any PostgresValue] { [requestID] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> PostgresJSON { try row.decode(0) }
}
