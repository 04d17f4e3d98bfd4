internal import AdCore
internal import BillingCore
internal import Postgres

/// Adds what was seen and what was clicked since that was stored last, to each ad, its campaign and the network. Beyond the
/// number that is remembered both counts are halved.
struct AddClickCounts: PostgresStatement {
  static let sql = """
    INSERT INTO billing.click_count AS stored (partition, campaign, ad, impressions, clicks)
    SELECT $1, coalesce(seen.campaign, ''), coalesce(seen.ad, ''), sum(seen.impressions), sum(seen.clicks)
    FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[]) AS seen (campaign, ad, impressions, clicks)
    GROUP BY GROUPING SETS ((seen.campaign, seen.ad), (seen.campaign), ())
    ON CONFLICT (partition, campaign, ad) DO UPDATE SET
      impressions = (stored.impressions + excluded.impressions)
        / CASE WHEN stored.impressions + excluded.impressions > $6 THEN 2 ELSE 1 END,
      clicks = (stored.clicks + excluded.clicks)
        / CASE WHEN stored.impressions + excluded.impressions > $6 THEN 2 ELSE 1 END
    """
  let partition: Int32
  let counts: [BillingEffects.CountedAd: ClickCount]
  let rememberedImpressions: Int64

  var parameters: [any PostgresValue] {
    let rows = Array(counts)
    return [
      partition, rows.map(\.key.campaign), rows.map(\.key.ad), rows.map(\.value.impressions),
      rows.map(\.value.clicks), rememberedImpressions,
    ]
  }
}
