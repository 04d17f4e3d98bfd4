internal import AdCore
internal import AdEvents
internal import ImpressionTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Which of these serves have an event of this kind stored, in a row of its own or in a pack of their second. The bounds of
/// all, which the planner knows, spare the tables of other days.
struct FindDeliveries: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT serve_id FROM impression_tracking.delivery_row WHERE serve_id = ANY ($1) AND kind = $2 AND partition = $3
    UNION ALL
    SELECT asked.serve_id
    FROM unnest($1::uuid[]) AS asked (serve_id) CROSS JOIN LATERAL (
      SELECT FROM impression_tracking.delivery_pack AS pack
      WHERE pack.serve_id BETWEEN public.first_uuid_of_span(asked.serve_id, 1000) AND asked.serve_id AND pack.kind = $2
        AND pack.last_serve_id >= asked.serve_id AND pack.partition = $3 AND asked.serve_id = ANY (pack.serve_ids)
        AND pack.serve_id BETWEEN $4 AND $5
      LIMIT 1
    ) AS told
    """
  let partition: Int32
  let ids: Set<UUIDv7>
  let kind: RecordedKind

  var parameters: [any PostgresValue] {
    let asked = Array(ids)
    let bounds = IDBounds(secondsOf: asked)
    return [asked, kind, partition, bounds.lowest, bounds.highest]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> UUIDv7 { try row.decode(0) }
}
