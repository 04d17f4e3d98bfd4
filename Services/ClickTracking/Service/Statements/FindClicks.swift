internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Which of these clicks are decided already. The bounds of the serves spare the tables of other days; the limit of one
/// row keeps the plan at one look into the index for each click.
struct FindClicks: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT asked.serve_id, asked.id_hash FROM unnest($1::uuid[], $2::bigint[]) AS asked (serve_id, id_hash),
    LATERAL (
      SELECT FROM click_tracking.click_row AS stored
      WHERE stored.serve_id = asked.serve_id AND stored.id_hash = asked.id_hash AND stored.serve_id BETWEEN $3 AND $4
        AND stored.partition = $5
      LIMIT 1
    ) AS found
    """
  let partition: Int32
  let identities: [ActionIdentity]

  var parameters: [any PostgresValue] {
    let bounds = IDBounds(identities.map(\.serveID))
    return [identities.map(\.serveID), identities.map(\.idHash), bounds.lowest, bounds.highest, partition]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> ActionIdentity {
    ActionIdentity(serveID: try row.decode(0), kind: .click, idHash: try row.decode(1))
  }
}
