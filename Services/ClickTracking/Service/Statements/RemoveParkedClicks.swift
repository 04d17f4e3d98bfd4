internal import AdCore
internal import ClickTrackingCore
internal import Postgres
internal import Runtime

/// These clicks wait no more: they were decided in this batch.
struct RemoveParkedClicks: PostgresStatement {
  static let sql = """
    DELETE FROM click_tracking.parked_row
    WHERE serve_id = ANY ($1) AND partition = $3
      AND (serve_id, id_hash) IN (SELECT * FROM unnest($1::uuid[], $2::bigint[]))
    """
  let partition: Int32
  let identities: [ActionIdentity]

  var parameters: [any PostgresValue] {
    [identities.map(\.serveID), identities.map(\.idHash), partition]
  }
}
