internal import AdCore
internal import Postgres
internal import Runtime

/// What is in suspense, oldest first.
struct ReadSuspended: PostgresStatement {
  static let sql = """
    SELECT serve_id, kind, event_time, app, campaign, currency, price, reason, voided_at, void_reason
    FROM billing.suspense WHERE $1 OR voided_at IS NULL ORDER BY serve_id, kind, sequence
    """
  let withVoided: Bool

  var parameters: [any PostgresValue] { [withVoided] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> SuspendedEvent {
    var voided: SuspendedEvent.Voided?
    if let at: Timestamp = try row.decode(8), let reason: String = try row.decode(9) {
      voided = SuspendedEvent.Voided(at: at, reason: reason)
    }
    return SuspendedEvent(
      serveID: try row.decode(0), kind: try row.decode(1), eventTime: try row.decode(2), app: try row.decode(3),
      campaign: try row.decode(4), currency: try row.decode(5), price: Nanos(try row.decode(6)),
      reason: try row.decode(7), voided: voided)
  }
}
