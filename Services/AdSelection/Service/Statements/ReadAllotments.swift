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

  var parameters: [any PostgresValue] { [partition, since.postgres] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> AllotmentRow {
    let id: Int64 = try row.decode(0)
    let serveUntil: PostgresTimestamp = try row.decode(6)
    let closedAt: PostgresTimestamp? = try row.decode(8)
    return AllotmentRow(
      allotment: UInt64(bitPattern: id), ordinal: try row.decode(1),
      campaign: try TermsColumns.known(CampaignID(row.decode(2)), 2), budgetDay: try row.decode(3),
      amount: Nanos(try row.decode(4)), used: Nanos(try row.decode(5)), usedForClicks: Nanos(try row.decode(9)),
      serveUntil: Timestamp(serveUntil), clickRates: try TermsColumns.known(ClickRateBounds(text: row.decode(7)), 7),
      closedAt: closedAt.map(Timestamp.init))
  }
}
