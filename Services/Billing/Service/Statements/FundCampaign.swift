internal import AdCore
internal import Postgres

/// What a campaign and each of its days may be charged (B4); a version that is known changes nothing.
struct FundCampaign: PostgresStatement {
  static let sql = "SELECT treasury.fund_campaign($1, $2, $3, $4, $5, $6)"
  let campaign: Campaign
  let currency: Currency
  let version: Int64

  var parameters: [any PostgresValue] {
    [
      campaign.id, campaign.advertiser, currency, campaign.totalBudget, campaign.dailyBudget, version,
    ]
  }

  /// Whether the version was new.
  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}
