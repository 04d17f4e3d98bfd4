import AdCore
import Postgres
import Runtime

/// Whether what a device tells of a served ad is stored already.
struct FindReplayedImpression: PostgresStatement {
  static let sql = """
    SELECT CASE WHEN $2 = 2 THEN EXISTS (SELECT FROM impression_tracking.impression WHERE serve_id = $1)
      ELSE EXISTS (SELECT FROM impression_tracking.delivery WHERE serve_id = $1 AND kind = $2) END
    """
  let serveID: ServeID
  /// As in `impression_tracking.delivery`; 2 for an impression.
  let kind: Int16

  /// The kind of a view that cannot be.
  static let impossibleView: Int16 = 5

  var parameters: [any PostgresValue] { [serveID.postgres, kind] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}
