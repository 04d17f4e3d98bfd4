internal import AdCore
internal import Postgres
internal import Runtime

/// Whether what a device tells of a served ad is stored already.
struct FindReplayedImpression: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT CASE WHEN $2 = \(RecordedKind.viewed.number)
      THEN EXISTS (SELECT FROM impression_tracking.impression_row WHERE serve_id = $1 AND partition = $3)
      ELSE EXISTS (SELECT FROM impression_tracking.stored_deliveries($1, $1) WHERE kind = $2 AND partition = $3) END
    """
  let partition: Int32
  let serveID: ServeID
  let kind: RecordedKind

  var parameters: [any PostgresValue] { [serveID, kind, partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}
