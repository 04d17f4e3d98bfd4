internal import AdCore
internal import BillingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Revenue per minute, as rows: from memory, or from the charges of their batches.
enum RevenueRows {
  private static let columns = CountColumns(
    "billing", kind: "revenue",
    [
      "currency": PostgresType.text, "fate": PostgresType.int2, "developer": PostgresType.text,
      "app": PostgresType.text, "advertiser": PostgresType.text, "campaign": PostgresType.text,
      "ad": PostgresType.text, "placement": PostgresType.text, "country": PostgresType.text,
      "device": PostgresType.int2, "size": PostgresType.int2, "kind": PostgresType.int2, "events": PostgresType.int8,
      "gross": PostgresType.numeric, "developer_amount": PostgresType.numeric,
      "network_amount": PostgresType.numeric,
    ])

  static func rows(_ revenue: [RevenueMinute: RevenueSums], partition: Int32) -> TableRows {
    let rows = TableRows(columns.table, capacity: revenue.count * 288)
    let buffer = rows.buffer
    for (key, sums) in revenue {
      rows.begin()
      buffer.append(int32: partition)
      buffer.append(timestampMicroseconds: key.minute &* 60_000_000)
      buffer.append(key.currency)
      buffer.append(key.fate)
      buffer.append(key.developer)
      buffer.append(key.app)
      buffer.append(key.advertiser)
      buffer.append(key.campaign)
      buffer.append(key.ad)
      buffer.append(key.placement)
      buffer.append(key.country)
      buffer.append(key.device)
      buffer.append(key.size)
      buffer.append(key.kind)
      buffer.append(int64: sums.events)
      buffer.append(numeric: sums.gross)
      buffer.append(numeric: sums.developer)
      buffer.append(numeric: sums.network)
    }
    return rows
  }

  /// Charges with a draw's version are those whose fate the database decided: it counts them itself, with their batch. The
  /// others are added up first: the terms of sums are looked up by their names, and no row's.
  static let countAgain = """
    INSERT INTO billing.minute_revenue (\(columns.list))
    SELECT $1, minute, currency, fate, developer, app, advertiser, campaign, ad, placement, country, device, size, kind,
      events, events * amount::numeric, events * developer_amount::numeric, events * network_amount::numeric
    FROM (
      SELECT date_bin('1 minute', event_time, 'epoch') AS minute, kind, fate, terms, placement, country, device, size,
        count(*) AS events
      FROM \(SequenceBatches.counted(packed: "charges", in: "billing"))
      WHERE draw_version IS NULL
      GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
    ) AS sums
    LEFT JOIN LATERAL (SELECT * FROM billing.terms WHERE name = sums.terms OFFSET 0) AS t ON true
    CROSS JOIN LATERAL billing.amounts(kind, fate, impression_price, click_price, share_basis_points)
    """
}
