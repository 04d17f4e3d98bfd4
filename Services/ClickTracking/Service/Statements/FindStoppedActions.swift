internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Which of these blocked and cancelled actions are stored.
struct FindStoppedActions: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT asked.serve_id, asked.kind, asked.id_hash
    FROM unnest($1::uuid[], $2::smallint[], $3::bigint[]) AS asked (serve_id, kind, id_hash),
    LATERAL (
      SELECT FROM click_tracking.stopped_action AS stored
      WHERE stored.serve_id = asked.serve_id AND stored.kind = asked.kind AND stored.id_hash = asked.id_hash
        AND stored.serve_id BETWEEN $4 AND $5 AND stored.partition = $6
      LIMIT 1
    ) AS found
    """
  let partition: Int32
  let identities: [ActionIdentity]

  var parameters: [any PostgresValue] {
    let bounds = IDBounds(identities.map(\.serveID))
    return [
      identities.map(\.serveID), identities.map(\.kind), identities.map(\.idHash), bounds.lowest, bounds.highest,
      partition,
    ]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> ActionIdentity {
    ActionIdentity(serveID: try row.decode(0), kind: try row.decode(1), idHash: try row.decode(2))
  }
}
