import AdCore
import AdSelectionCore
import Postgres
import Runtime

/// Adds a batch's counts to its partition's rows: nobody else writes those.
struct AddMinuteCounts: PostgresStatement {
  static let sql = """
    INSERT INTO ad_selection.minute_count AS stored (partition, minute, reason, app, placement, campaign, ad, country,
      device, size, is_test, injected_error, requests, fills)
    SELECT $1, counted.* FROM unnest($2::timestamptz[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::text[],
      $8::text[], $9::smallint[], $10::smallint[], $11::boolean[], $12::smallint[], $13::bigint[],
      $14::bigint[]) AS counted
    ON CONFLICT (partition, minute, reason, app, placement, campaign, ad, country, device, size, is_test, injected_error)
    DO UPDATE SET requests = stored.requests + excluded.requests, fills = stored.fills + excluded.fills
    """
  let partition: Int32
  let counts: [SelectionCountKey: Int64]

  var parameters: [any PostgresValue] {
    let rows = Array(counts)
    return [
      partition, rows.map(\.key.request.minute.postgres), rows.map { Int16($0.key.request.reason.rawValue) },
      rows.map(\.key.request.app.text), rows.map(\.key.request.placement.text),
      rows.map { $0.key.campaign?.text ?? "" },
      rows.map { $0.key.ad?.text ?? "" }, rows.map(\.key.request.country.description),
      rows.map { Int16($0.key.request.device.rawValue) }, rows.map { Int16($0.key.request.size?.rawValue ?? 0) },
      rows.map(\.key.request.isTest), rows.map { $0.key.injectedError.map { Int16($0.rawValue) } ?? -1 },
      rows.map(\.value), rows.map { $0.key.request.reason.isFill ? $0.value : 0 },
    ]
  }
}
