import AdCore
import ClickTrackingCore
import Postgres
import Runtime

/// How many clicks of these serves are decided, counted as far as it matters, and whether one of them is billable.
/// However many repeats somebody sends, a serve costs the same.
struct FindServes: PostgresStatement {
  struct Serve {
    let id: ServeID
    let decidedCount: Int
    let hasBillable: Bool
  }

  static let sql = """
    SELECT asked.serve_id, decided.clicks, coalesce(billable.is_there, false) FROM unnest($1::uuid[]) AS asked (serve_id),
    LATERAL (
      SELECT count(*) AS clicks FROM (
        SELECT FROM click_tracking.click AS stored
        WHERE stored.serve_id = asked.serve_id AND stored.serve_id BETWEEN $2 AND $3
        LIMIT \(ServeClicks.decidedMaximum)
      ) AS first
    ) AS decided LEFT JOIN LATERAL (
      SELECT true AS is_there FROM click_tracking.click AS stored
      WHERE stored.serve_id = asked.serve_id AND stored.serve_id BETWEEN $2 AND $3 AND stored.verdict = 1
      LIMIT 1
    ) AS billable ON true
    WHERE decided.clicks > 0
    """
  let ids: [ServeID]

  var parameters: [any PostgresValue] {
    let bounds = IDBounds(ids)
    return [ids.map(\.postgres), bounds.lowest, bounds.highest]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Serve {
    let count: Int64 = try row.decode(1)
    return Serve(id: try row.id(0), decidedCount: Int(count), hasBillable: try row.decode(2))
  }
}
