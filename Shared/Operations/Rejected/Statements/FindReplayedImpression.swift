internal import AdCore
internal import Postgres
internal import Runtime

/// Whether what a device tells of a served ad is stored already.
struct FindReplayedImpression: PostgresStatement {
  static let sql = """
    SELECT CASE WHEN $2 = \(RecordedKind.viewed.number) THEN EXISTS (SELECT FROM impression_tracking.impression WHERE serve_id = $1)
      ELSE EXISTS (SELECT FROM impression_tracking.delivery WHERE serve_id = $1 AND kind = $2) END
    """
  let serveID: ServeID
  let kind: RecordedKind

  var parameters: [any PostgresValue] { [serveID, kind] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}
