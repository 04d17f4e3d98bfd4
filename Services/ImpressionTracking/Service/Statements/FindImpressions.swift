internal import AdCore
internal import AdEvents
internal import Postgres
internal import Runtime

/// Which of these impressions are stored.
struct FindImpressions: PostgresStatement {
  static let isPrepared = false
  static let sql =
    "SELECT serve_id FROM impression_tracking.impression_row WHERE serve_id = ANY ($1) AND partition = $2"
  let partition: Int32
  let ids: Set<UUIDv7>
  var parameters: [any PostgresValue] { [Array(ids), partition] }
  static func decode(_ row: PostgresRow) throws(PostgresError) -> UUIDv7 { try row.decode(0) }
}
