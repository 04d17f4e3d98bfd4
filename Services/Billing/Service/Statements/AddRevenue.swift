internal import AdCore
internal import BillingCore
internal import Postgres

/// Adds a batch's revenue to its partition's minutes: nobody else writes those.
struct AddRevenue: PostgresStatement {
  static let sql = """
    INSERT INTO billing.minute_revenue AS stored (partition, minute, kind, fate, app, developer, advertiser, campaign,
      ad, placement, country, device, size, currency, events, gross, developer_amount, network_amount)
    SELECT $1, counted.* FROM unnest($2::timestamptz[], $3::smallint[], $4::smallint[], $5::text[], $6::text[],
      $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::smallint[], $13::smallint[], $14::text[],
      $15::bigint[], $16::numeric[], $17::numeric[], $18::numeric[]) AS counted
    ON CONFLICT (partition, minute, kind, fate, app, developer, advertiser, campaign, ad, placement, country, device,
      size, currency)
    DO UPDATE SET events = stored.events + excluded.events, gross = stored.gross + excluded.gross,
      developer_amount = stored.developer_amount + excluded.developer_amount,
      network_amount = stored.network_amount + excluded.network_amount
    """
  let partition: Int32
  let revenue: [RevenueMinute: RevenueSums]

  var parameters: [any PostgresValue] {
    let rows = Array(revenue)
    let keys = rows.map(\.key)
    return [
      partition, keys.map { PostgresTimestamp(microseconds: $0.minute * 60_000_000) }, keys.map(\.kind.rawValue),
      keys.map(\.fate.number), keys.map(\.app.text), keys.map(\.developer.text), keys.map(\.advertiser.text),
      keys.map(\.campaign.text), keys.map(\.ad.text), keys.map(\.placement.text), keys.map(\.country.description),
      keys.map { Int16($0.device.rawValue) }, keys.map { Int16($0.size.rawValue) }, keys.map(\.currency.text),
      rows.map(\.value.events), rows.map(\.value.gross), rows.map(\.value.developer), rows.map(\.value.network),
    ]
  }
}
