internal import AdCore
internal import Postgres
internal import Runtime

/// Decides that nobody pays what a serve has in suspense.
struct VoidSuspended: PostgresStatement {
  static let sql = """
    UPDATE billing.suspense SET voided_at = clock_timestamp(), void_reason = $2 WHERE serve_id = $1 AND voided_at IS NULL
    """
  let serve: ServeID
  let reason: String

  var parameters: [any PostgresValue] { [serve, reason] }
}
