internal import AdCore
internal import AdEvents
internal import ImpressionTrackingCore
internal import Postgres

/// Adds counts to their partition's rows, which nobody else writes, and keeps up to which batch everything is counted.
struct AddImpressionMinuteCounts: PostgresStatement {
  static let sql = """
    WITH counted AS (
      INSERT INTO impression_tracking.counted (partition, batch_number) VALUES ($1, $2)
      ON CONFLICT (partition) DO UPDATE SET batch_number = excluded.batch_number
    )
    INSERT INTO impression_tracking.minute_count AS stored (partition, minute, kind, error, app, campaign, ad,
      placement, country, size, device, is_test, events)
    SELECT $1, added.* FROM unnest($3::timestamptz[], $4::smallint[], $5::smallint[], $6::text[], $7::text[],
      $8::text[], $9::text[], $10::text[], $11::smallint[], $12::smallint[], $13::boolean[], $14::bigint[]) AS added
    ON CONFLICT (partition, minute, kind, error, app, campaign, ad, placement, country, size, device, is_test)
    DO UPDATE SET events = stored.events + excluded.events
    """
  let partition: Int32
  let batchNumber: Int64
  let counts: [ImpressionMinuteKey: Int64]

  var parameters: [any PostgresValue] {
    let rows = Array(counts)
    return [
      partition, batchNumber, rows.map { PostgresTimestamp(microseconds: $0.key.minute * 60_000_000) },
      rows.map { Int16($0.key.kind.rawValue) }, rows.map { $0.key.error.map { Int16($0.rawValue) } ?? -1 },
      rows.map { $0.key.app.text }, rows.map { $0.key.served?.campaign.text ?? "" },
      rows.map { $0.key.served?.ad.text ?? "" }, rows.map { $0.key.placement.text },
      rows.map { $0.key.served?.country.description ?? "" }, rows.map { Int16($0.key.served?.size.rawValue ?? 0) },
      rows.map { Int16($0.key.served?.device.rawValue ?? 0) }, rows.map { $0.key.isTest }, rows.map { $0.value },
    ]
  }
}
