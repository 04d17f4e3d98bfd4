internal import AdCore
internal import Postgres

/// Where a served ad has rows: in its one partition, if all is well. Each partition is asked, since whoever asks knows the id
/// alone.
struct FindServePartitions: PostgresStatement {
  private static let partitions = PipelineChecks.services.map { "SELECT partition FROM \($0).partition" }
    .joined(separator: " UNION ")
  private static let rows = [
    "ad_selection.stored_decisions($1, $1)", "impression_tracking.impression_row",
    "impression_tracking.stored_deliveries($1, $1)",
    "click_tracking.click_row", "click_tracking.parked_row", "click_tracking.stopped_action",
    "click_tracking.conversion",
    "billing.stored_charges($1, $1)", "billing.waiting_row", "billing.held_row", "billing.suspense",
  ]
  private static let isThere = rows.map { rows in
    "EXISTS (SELECT FROM \(rows) AS r WHERE r.serve_id = $1 AND r.partition = p.partition)"
  }.joined(separator: " OR ")

  static let isPrepared = false
  static let sql = "SELECT p.partition FROM (\(partitions)) AS p WHERE \(isThere) ORDER BY p.partition"
  let serveID: ServeID

  var parameters: [any PostgresValue] { [serveID] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int32 { try row.decode(0) }
}
