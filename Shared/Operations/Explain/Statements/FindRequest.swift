internal import AdCore
internal import Postgres
internal import Runtime

/// The decisions of a request id among those made from one moment up to another, the latest first. More than one, where
/// a client used the id again after a minute. The decisions are sorted once they
/// are found: the planner may not walk through all of the days in the hope of an early end.
struct FindRequest: PostgresStatement {
  /// The most decisions that are told.
  static let rowsMaximum = 20

  static let isPrepared = false
  static let sql = """
    WITH found AS MATERIALIZED (
      SELECT serve_id FROM ad_selection.decision_row WHERE request_id = $1 AND serve_id >= $2 AND serve_id < $3
      UNION ALL
      SELECT serve_id FROM ad_selection.packed_around($1)
      WHERE request_id = $1 AND serve_id >= $2 AND serve_id < $3
    )
    SELECT serve_id FROM found ORDER BY serve_id DESC LIMIT \(rowsMaximum)
    """
  let requestID: UUIDv7
  let range: ServeRange

  var parameters: [any PostgresValue] { [requestID] + range.parameters }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> ServeID { try row.decode(0) }
}
