internal import AdCore
internal import AdEvents
internal import ClickTrackingCore
internal import Postgres

/// Adds a batch's counts to its partition's rows: nobody else writes those.
struct AddClickMinuteCounts: PostgresStatement {
  static let sql = """
    INSERT INTO click_tracking.minute_count AS stored (partition, minute, kind, verdict, app, campaign, ad, placement,
      country, size, device, is_test, events)
    SELECT $1, counted.* FROM unnest($2::timestamptz[], $3::smallint[], $4::smallint[], $5::text[], $6::text[],
      $7::text[], $8::text[], $9::text[], $10::smallint[], $11::smallint[], $12::boolean[], $13::bigint[]) AS counted
    ON CONFLICT (partition, minute, kind, verdict, app, campaign, ad, placement, country, size, device, is_test)
    DO UPDATE SET events = stored.events + excluded.events
    """
  let partition: Int32
  let counts: [ClickMinuteKey: Int64]

  var parameters: [any PostgresValue] {
    let rows = Array(counts)
    return [
      partition, rows.map { PostgresTimestamp(microseconds: $0.key.minute * 60_000_000) },
      rows.map { Int16($0.key.kind.rawValue) }, rows.map { Int16($0.key.verdict?.rawValue ?? 0) },
      rows.map(\.key.app.text), rows.map(\.key.campaign.text), rows.map(\.key.ad.text), rows.map(\.key.placement.text),
      rows.map(\.key.country.description), rows.map { Int16($0.key.size.rawValue) },
      rows.map { Int16($0.key.device.rawValue) }, rows.map(\.key.isTest), rows.map(\.value),
    ]
  }
}
