internal import AdCore
internal import BillingCore
internal import Postgres
internal import Runtime

/// A partition's allotments that have not ended.
struct ReadOpenAllotments: PostgresStatement {
  static let sql = """
    SELECT id, advertiser, currency, campaign, budget_day, amount, charged, serve_until, state, click_reserve,
      clicks_charged, click_rates
    FROM billing.allotment WHERE partition = $1 AND state < \(AllotmentState.ended.number)
    """
  let partition: Int32
  var parameters: [any PostgresValue] { [partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> OpenAllotment {
    OpenAllotment(
      id: try row.decode(0), budget: try BudgetKey(row, from: 1),
      amount: try row.decode(5), charged: try row.decode(6), clickReserve: try row.decode(9),
      clicksCharged: try row.decode(10), clickRates: try row.decode(11),
      serveUntil: try row.decode(7), isClosed: try row.decode(8, AllotmentState.self) == .closed)
  }
}
