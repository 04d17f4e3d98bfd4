internal import Postgres

/// Keeps the present version of records for ever.
struct KeepHistory: PostgresStatement {
  static let sql = """
    INSERT INTO catalog.history (key, version, body, is_deleted, change_number)
    SELECT key, version, body, deleted_at IS NOT NULL, change_number FROM catalog.record WHERE key = ANY ($1)
    """
  let keys: [String]
  var parameters: [any PostgresValue] { [keys] }
}
