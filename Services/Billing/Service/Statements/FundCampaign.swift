internal import AdCore
internal import Postgres

/// What a campaign, and each of its days from ``firstDay`` on, may be charged (B4). A known version changes nothing.
struct FundCampaign: PostgresStatement {
  static let sql = "SELECT treasury.fund_campaign($1, $2, $3, $4, $5, $6, $7)"
  let campaign: Campaign
  let currency: Currency
  let version: Int64
  /// The budget day that goes on.
  let firstDay: Int32

  var parameters: [any PostgresValue] {
    [
      campaign.id, campaign.advertiser, currency, campaign.totalBudget, campaign.dailyBudget, version,
      firstDay,
    ]
  }

  /// Whether the version was new.
  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}
