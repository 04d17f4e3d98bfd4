internal import AdCore
internal import Postgres
internal import Runtime

/// Decides that nobody pays what a serve has in suspense.
struct VoidSuspended: PostgresStatement {
  static let sql = """
    UPDATE billing.suspense AS s SET voided_at = clock_timestamp(), void_reason = $2 FROM billing.partition AS p
    WHERE s.partition = p.partition AND s.serve_id = $1 AND s.voided_at IS NULL
    """
  let serve: ServeID
  let reason: String

  var parameters: [any PostgresValue] { [serve, reason] }
}
