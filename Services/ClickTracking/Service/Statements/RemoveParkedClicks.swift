import AdCore
import Postgres
import Runtime

/// The clicks of these serves wait no more: they were decided in this batch.
struct RemoveParkedClicks: PostgresStatement {
  static let sql = "DELETE FROM click_tracking.parked WHERE serve_id = ANY ($1)"
  let serves: [ServeID]
  var parameters: [any PostgresValue] { [serves.map(\.postgres)] }
}
