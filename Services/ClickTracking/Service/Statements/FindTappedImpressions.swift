internal import AdCore
internal import ClickTrackingCore
internal import Postgres
internal import Runtime

/// When these ads were shown, where they were.
struct FindTappedImpressions: PostgresStatement {
  static let sql = """
    SELECT serve_id, shown_at FROM click_tracking.impression
    WHERE serve_id = ANY ($1) AND serve_id BETWEEN $2 AND $3 AND partition = $4
    """
  let partition: Int32
  let ids: [ServeID]

  var parameters: [any PostgresValue] {
    let bounds = IDBounds(ids)
    return [ids, bounds.lowest, bounds.highest, partition]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (serveID: ServeID, shownAt: Timestamp) {
    (try row.decode(0), try row.decode(1))
  }
}
