internal import AdCore
internal import AdEvents
internal import Postgres
internal import Runtime

/// Which of these impressions are stored.
struct FindImpressions: PostgresStatement {
  static let sql = "SELECT serve_id FROM impression_tracking.impression WHERE serve_id = ANY ($1)"
  let ids: Set<UUIDv7>
  var parameters: [any PostgresValue] { [Array(ids)] }
  static func decode(_ row: PostgresRow) throws(PostgresError) -> UUIDv7 { try row.decode(0) }
}
