internal import AdCore
internal import Postgres
internal import Runtime

/// Has what a serve has in suspense charged.
struct RetrySuspended: PostgresStatement {
  static let isPrepared = false
  static let sql = "SELECT kind, fate FROM billing.retry_suspended($1)"
  let serve: ServeID

  var parameters: [any PostgresValue] { [serve] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> RetriedEvent {
    RetriedEvent(kind: try row.decode(0), fate: try row.decode(1))
  }
}
