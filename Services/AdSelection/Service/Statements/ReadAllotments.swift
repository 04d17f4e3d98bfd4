internal import AdCore
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// The allotments of a partition that are not closed, and those that ended since a moment: they hold the ordinals.
struct ReadAllotments: PostgresStatement {
  static let sql = """
    SELECT id, ordinal, campaign, budget_day, amount, used, serve_until, click_rates, closed_at, used_for_clicks
    FROM ad_selection.allotment WHERE partition = $1 AND (closed_at IS NULL OR serve_until > $2)
    """
  let partition: Int32
  let since: Timestamp

  var parameters: [any PostgresValue] { [partition, since] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> AllotmentRow {
    AllotmentRow(
      allotment: try row.decode(0), ordinal: try row.decode(1), campaign: try row.decode(2),
      budgetDay: try row.decode(3), amount: try row.decode(4), used: try row.decode(5),
      usedForClicks: try row.decode(9), serveUntil: try row.decode(6), clickRates: try row.decode(7),
      closedAt: try row.decode(8))
  }
}
