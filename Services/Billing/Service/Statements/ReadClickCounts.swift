internal import AdCore
internal import BillingCore
internal import Postgres
internal import Runtime

/// How often the partition saw ads seen and clicked: the network's, the campaigns', and those of each campaign's ads that
/// were shown most.
struct ReadClickCounts: PostgresStatement {
  struct Row {
    /// Nil for the network.
    let campaign: CampaignID?
    /// Nil for the campaign.
    let ad: AdID?
    let count: ClickCount
  }

  static let sql = """
    SELECT campaign, ad, clicks, impressions FROM billing.click_count WHERE partition = $1 AND campaign = '' AND ad = ''
    UNION ALL
    SELECT counted.* FROM unnest($2::text[]) AS asked (campaign) CROSS JOIN LATERAL (
      SELECT campaign, ad, clicks, impressions FROM billing.click_count
      WHERE partition = $1 AND campaign = asked.campaign ORDER BY ad = '' DESC, impressions DESC, ad LIMIT $3
    ) AS counted
    """
  let partition: Int32
  let campaigns: Set<CampaignID>

  /// The campaign's own row comes first.
  var parameters: [any PostgresValue] {
    [partition, Array(campaigns), Int64(ClickRateBounds.adsMaximum + 1)]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Row {
    Row(
      campaign: try row.decode(0, String.self).isEmpty ? nil : try row.decode(0),
      ad: try row.decode(1, String.self).isEmpty ? nil : try row.decode(1),
      count: ClickCount(clicks: try row.decode(2), impressions: try row.decode(3)))
  }
}

extension [CampaignID: ClickCounts] {
  /// One for each campaign that was asked for.
  init(_ rows: [ReadClickCounts.Row], of campaigns: Set<CampaignID>) {
    let network = rows.first { $0.campaign == nil }?.count ?? ClickCount()
    self = [CampaignID: ClickCounts](uniqueKeysWithValues: campaigns.map { ($0, ClickCounts(network: network)) })
    for row in rows {
      guard let campaign = row.campaign else { continue }
      if let ad = row.ad { self[campaign]?.ads[ad] = row.count } else { self[campaign]?.campaign = row.count }
    }
  }
}
