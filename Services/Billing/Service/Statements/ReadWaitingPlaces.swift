internal import AdCore
internal import BillingCore
internal import Postgres
internal import Runtime

/// Where events of a partition wait for budget.
struct ReadWaitingPlaces: PostgresStatement {
  static let sql = """
    SELECT DISTINCT advertiser, currency, campaign, budget_day FROM billing.waiting WHERE partition = $1
    """
  let partition: Int32
  var parameters: [any PostgresValue] { [partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> BudgetPlace {
    BudgetPlace(
      advertiser: try TermsColumns.known(AdvertiserID(row.decode(0)), 0),
      currency: try TermsColumns.known(Currency(row.decode(1)), 1),
      campaign: try TermsColumns.known(CampaignID(row.decode(2)), 2), day: try row.decode(3))
  }
}
