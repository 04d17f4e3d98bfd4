internal import AdCore
internal import BillingCore
internal import Postgres
internal import Runtime

/// Where events of a partition wait for budget: from one campaign's day to the next, however many wait for each. A campaign's
/// advertiser and currency never change.
struct ReadWaitingBudgets: PostgresStatement {
  static let sql = """
    WITH RECURSIVE budget AS (
      (SELECT advertiser, currency, campaign, budget_day FROM billing.waiting_row WHERE partition = $1
        ORDER BY campaign, budget_day LIMIT 1)
      UNION ALL
      SELECT next.* FROM budget AS b CROSS JOIN LATERAL (
        SELECT advertiser, currency, campaign, budget_day FROM billing.waiting_row
        WHERE partition = $1 AND (campaign, budget_day) > (b.campaign, b.budget_day) ORDER BY campaign, budget_day LIMIT 1
      ) AS next
    )
    SELECT advertiser, currency, campaign, budget_day FROM budget
    """
  let partition: Int32
  var parameters: [any PostgresValue] { [partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> BudgetKey {
    try BudgetKey(row, from: 0)
  }
}

extension BudgetKey {
  /// From a row that has advertiser, currency, campaign and budget day from that column on.
  init(_ row: PostgresRow, from first: Int) throws(PostgresError) {
    self.init(
      advertiser: try row.decode(first), currency: try row.decode(first + 1), campaign: try row.decode(first + 2),
      day: try row.decode(first + 3))
  }
}
