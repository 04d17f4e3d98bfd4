internal import AdCore
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// Stores allotments that were granted to the partition.
struct InsertAllotments: PostgresStatement {
  static let sql = """
    INSERT INTO ad_selection.allotment (partition, batch_number, id, ordinal, campaign, budget_day, amount,
      serve_until, click_rates, batch_index)
    SELECT $1, $2, granted.* FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::int[], $7::bigint[],
      $8::timestamptz[], $9::text[], $10::int[]) AS granted
    """
  let partition: Int32
  let batchNumber: Int64
  let opened: [SelectionEffects.OpenedAllotment]

  var parameters: [any PostgresValue] {
    let rows = opened.map(\.row)
    return [
      partition, batchNumber, rows.map(\.allotment), rows.map(\.ordinal),
      rows.map(\.campaign), rows.map(\.budgetDay), rows.map(\.amount), rows.map(\.serveUntil),
      rows.map(\.clickRates), opened.map(\.index),
    ]
  }
}
