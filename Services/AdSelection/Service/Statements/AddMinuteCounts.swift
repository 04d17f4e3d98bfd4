import AdCore
import AdSelectionCore
import Postgres
import Runtime

/// Adds counts to their partition's rows, which nobody else writes, and keeps up to which batch everything is counted.
struct AddMinuteCounts: PostgresStatement {
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
  let counts: [SelectionCountKey: Int64]

  var parameters: [any PostgresValue] {
    let rows = Array(counts)
    return [
      partition, batchNumber, committedAt.postgres, rows.map(\.key.request.minute.postgres),
      rows.map { Int16($0.key.request.reason.rawValue) },
      rows.map(\.key.request.app.text), rows.map(\.key.request.placement.text),
      rows.map { $0.key.campaign?.text ?? "" },
      rows.map { $0.key.ad?.text ?? "" }, rows.map(\.key.request.country.description),
      rows.map { Int16($0.key.request.device.rawValue) }, rows.map { Int16($0.key.request.size?.rawValue ?? 0) },
      rows.map(\.key.request.isTest), rows.map { $0.key.injectedError.map { Int16($0.rawValue) } ?? -1 },
      rows.map(\.value), rows.map { $0.key.request.reason.isFill ? $0.value : 0 },
    ]
  }
}
