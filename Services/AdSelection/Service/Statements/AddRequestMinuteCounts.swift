internal import AdCore
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// Adds counts of apps' requests to their partition's rows, which nobody else writes, and keeps up to which batch
/// everything is counted.
struct AddRequestMinuteCounts: PostgresStatement {
  static let sql = """
    WITH counted AS (
      INSERT INTO ad_selection.counted (partition, batch_number, committed_at) VALUES ($1, $2, $3)
      ON CONFLICT (partition) DO UPDATE
      SET batch_number = excluded.batch_number, committed_at = excluded.committed_at
    )
    INSERT INTO ad_selection.minute_count AS stored (partition, minute, reason, app, placement, campaign, ad, country,
      device, size, is_test, injected_error, requests, fills)
    SELECT $1, added.* FROM unnest($4::timestamptz[], $5::smallint[], $6::text[], $7::text[], $8::text[], $9::text[],
      $10::text[], $11::smallint[], $12::smallint[], $13::boolean[], $14::smallint[], $15::bigint[],
      $16::bigint[]) AS added
    ON CONFLICT (partition, minute, reason, app, placement, campaign, ad, country, device, size, is_test, injected_error)
    DO UPDATE SET requests = stored.requests + excluded.requests, fills = stored.fills + excluded.fills
    """
  let partition: Int32
  let batchNumber: Int64
  let committedAt: Timestamp
  let counts: [(key: MinuteCountKey, requests: Int64)]

  var parameters: [any PostgresValue] {
    let keys = counts.map(\.key)
    return [
      partition, batchNumber, committedAt.postgres, keys.map(\.minute.postgres),
      keys.map { Int16($0.reason.rawValue) }, keys.map(\.app.text), keys.map { $0.placement?.text ?? "" },
      keys.map { $0.campaign?.text ?? "" }, keys.map { $0.ad?.text ?? "" },
      keys.map { $0.country?.description ?? "unknown" }, keys.map { Int16($0.device?.rawValue ?? 0) },
      keys.map { Int16($0.size?.rawValue ?? 0) }, keys.map(\.isTest),
      keys.map { $0.injectedError.map { Int16($0.rawValue) } ?? -1 }, counts.map(\.requests),
      counts.map { $0.key.reason.isFill ? $0.requests : 0 },
    ]
  }
}
