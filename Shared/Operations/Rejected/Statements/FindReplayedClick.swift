internal import AdCore
internal import AdEvents
internal import Postgres
internal import Runtime

/// Whether a click, or an action that was stopped, is stored already or waits for its verdict.
struct FindReplayedClick: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT CASE WHEN $2 = \(TapKind.click.number)
      THEN EXISTS (SELECT FROM click_tracking.click_row WHERE serve_id = $1 AND id_hash = $3 AND partition = $4)
        OR EXISTS (SELECT FROM click_tracking.parked_row WHERE serve_id = $1 AND id_hash = $3 AND partition = $4)
      ELSE EXISTS (
        SELECT FROM click_tracking.stopped_action
        WHERE serve_id = $1 AND kind = $2 AND id_hash = $3 AND partition = $4) END
    """
  let partition: Int32
  let serveID: ServeID
  let kind: TapKind
  let idHash: UInt64

  var parameters: [any PostgresValue] {
    [serveID, kind, idHash, partition]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}
