internal import AdCore
internal import ClickTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// When these ads were shown, where they were: at most one of them stands in a row, and it is one of those of its second. The
/// bounds of all, which the planner knows, spare the tables of other days.
struct FindTappedImpressions: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT asked.serve_id, seen.shown_at
    FROM unnest($1::uuid[]) AS asked (serve_id) CROSS JOIN LATERAL (
      SELECT pack.shown_at[array_position(pack.serve_ids, asked.serve_id)] AS shown_at
      FROM click_tracking.impression_pack AS pack
      WHERE pack.serve_id BETWEEN public.first_uuid_of_span(asked.serve_id, 1000) AND asked.serve_id
        AND pack.last_serve_id >= asked.serve_id AND pack.partition = $2 AND asked.serve_id = ANY (pack.serve_ids)
        AND pack.serve_id BETWEEN $3 AND $4
      LIMIT 1
    ) AS seen
    """
  let partition: Int32
  let ids: [ServeID]

  var parameters: [any PostgresValue] {
    let bounds = IDBounds(secondsOf: ids)
    return [ids, partition, bounds.lowest, bounds.highest]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (serveID: ServeID, shownAt: Timestamp) {
    (try row.decode(0), try row.decode(1))
  }
}
