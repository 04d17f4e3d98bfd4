internal import AdCore
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// The allotments of a partition that are not closed; and of each campaign and budget day of which some may have ended since
/// a moment the closed one of the highest ordinal, which stands for all of them. A busy campaign has thousands of a day, and
/// they are kept for weeks: the key is stepped through by day and campaign, from the first of those days, and no others are read.
///
/// Such a one counts as ended a day later than it was to: those of one budget day end within about a day of each other, so it
/// is remembered about as long as any of them, which is two days.
struct ReadAllotments: PostgresStatement {
  static let sql = """
    WITH RECURSIVE days AS (
      (SELECT budget_day, campaign FROM ad_selection.allotment WHERE partition = $1 AND budget_day >= $3
      ORDER BY budget_day, campaign LIMIT 1)
      UNION ALL
      SELECT next.budget_day, next.campaign FROM days d CROSS JOIN LATERAL (
        SELECT a.budget_day, a.campaign FROM ad_selection.allotment a
        WHERE a.partition = $1 AND (a.budget_day, a.campaign) > (d.budget_day, d.campaign)
        ORDER BY a.budget_day, a.campaign LIMIT 1
      ) AS next
    )
    SELECT id, ordinal, campaign, budget_day, amount, used, serve_until, click_rates, closed_at, used_for_clicks
    FROM ad_selection.allotment WHERE partition = $1 AND closed_at IS NULL
    UNION ALL
    SELECT last.id, last.ordinal, d.campaign, d.budget_day, last.amount, last.used, last.serve_until + interval '1 day',
      last.click_rates, last.closed_at, last.used_for_clicks
    FROM days d CROSS JOIN LATERAL (
      SELECT * FROM ad_selection.allotment a
      WHERE a.partition = $1 AND a.campaign = d.campaign AND a.budget_day = d.budget_day AND a.closed_at IS NOT NULL
      ORDER BY a.ordinal DESC LIMIT 1
    ) AS last
    WHERE last.serve_until + interval '1 day' > $2
    """
  let partition: Int32
  let since: Timestamp

  /// A budget day's allotments end in it, wherever it is: within a day of UTC's of that number.
  private var oldestDay: Int32 { Int32(clamping: since.milliseconds / 86_400_000 - 3) }

  var parameters: [any PostgresValue] { [partition, since, oldestDay] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> AllotmentRow {
    AllotmentRow(
      allotment: try row.decode(0), ordinal: try row.decode(1), campaign: try row.decode(2),
      budgetDay: try row.decode(3), amount: try row.decode(4), used: try row.decode(5),
      usedForClicks: try row.decode(9), serveUntil: try row.decode(6), clickRates: try row.decode(7),
      closedAt: try row.decode(8))
  }
}
