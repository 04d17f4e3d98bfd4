internal import AdCore
internal import ClickTrackingCore
internal import Postgres
internal import Runtime

/// When these ads were shown, where they were: at most one of them stands in a row, and it is one of those of its second.
struct FindTappedImpressions: PostgresStatement {
  static let sql = """
    SELECT asked.serve_id, seen.shown_at
    FROM unnest($1::uuid[]) AS asked (serve_id) CROSS JOIN LATERAL (\(shownAt(of: "asked.serve_id", partition: "$2"))) AS seen
    """
  let partition: Int32
  let ids: [ServeID]

  var parameters: [any PostgresValue] { [ids, partition] }

  /// Of one ad: a query of at most one row.
  static func shownAt(of id: String, partition: String) -> String {
    """
    SELECT pack.shown_at[array_position(pack.serve_ids, \(id))] AS shown_at FROM click_tracking.impression_pack AS pack
    WHERE pack.serve_id BETWEEN public.first_uuid_at(date_trunc('second', public.time_of(\(id)))) AND \(id)
      AND pack.last_serve_id >= \(id) AND pack.partition = \(partition) AND \(id) = ANY (pack.serve_ids)
    LIMIT 1
    """
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (serveID: ServeID, shownAt: Timestamp) {
    (try row.decode(0), try row.decode(1))
  }
}
