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
    let serveUntil: PostgresTimestamp = try row.decode(7)
    let state: Int16 = try row.decode(8)
    return OpenAllotment(
      id: UInt64(bitPattern: try row.decode(0)),
      place: BudgetPlace(
        advertiser: try TermsColumns.known(AdvertiserID(row.decode(1)), 1),
        currency: try TermsColumns.known(Currency(row.decode(2)), 2),
        campaign: try TermsColumns.known(CampaignID(row.decode(3)), 3), day: try row.decode(4)),
      amount: try row.decode(5), charged: try row.decode(6), clickReserve: try row.decode(9),
      clicksCharged: try row.decode(10), clickRates: try TermsColumns.known(ClickRateBounds(text: row.decode(11)), 11),
      serveUntil: Timestamp(serveUntil), isClosed: state == AllotmentState.closed.number)
  }
}
