internal import AdCore
internal import AdEvents
internal import ImpressionTrackingCore
internal import Postgres
internal import Runtime

/// Which of these serves have an event of this kind stored.
struct FindDeliveries: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT serve_id FROM impression_tracking.delivery_row WHERE serve_id = ANY ($1) AND kind = $2 AND partition = $3
    """
  let partition: Int32
  let ids: Set<UUIDv7>
  let kind: RecordedKind
  var parameters: [any PostgresValue] { [Array(ids), kind, partition] }
  static func decode(_ row: PostgresRow) throws(PostgresError) -> UUIDv7 { try row.decode(0) }
}
