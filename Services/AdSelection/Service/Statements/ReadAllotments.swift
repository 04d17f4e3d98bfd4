internal import AdCore
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// The allotments of a partition that are not closed; and of those closed that ended since a moment one for each
/// campaign and budget day, which a busy campaign has thousands of: that of the highest ordinal, as if it had been the
/// last to end. It holds the ordinals as long as all of them would.
struct ReadAllotments: PostgresStatement {
  static let sql = """
    SELECT id, ordinal, campaign, budget_day, amount, used, serve_until, click_rates, closed_at, used_for_clicks
    FROM ad_selection.allotment WHERE partition = $1 AND closed_at IS NULL
    UNION ALL (
      SELECT DISTINCT ON (campaign, budget_day) id, ordinal, campaign, budget_day, amount, used,
        max(serve_until) OVER (PARTITION BY campaign, budget_day), click_rates, closed_at, used_for_clicks
      FROM ad_selection.allotment WHERE partition = $1 AND closed_at IS NOT NULL AND serve_until > $2
      ORDER BY campaign, budget_day, ordinal DESC
    )
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
