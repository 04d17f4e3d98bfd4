internal import AdCore
internal import AdEvents
internal import BillingCore
internal import Pipeline
internal import Postgres
internal import Runtime

/// A partition's grants from a sequence on, in order: their ids are a range.
struct ReadGrants: PostgresStatement {
  static let sql = """
    SELECT id, ordinal, campaign, budget_day, granted, serve_until, click_rates, granted_at
    FROM billing.allotment WHERE id >= $1 AND id < $2 AND partition = $4 ORDER BY id LIMIT $3
    """
  let partition: Int32
  let from: Int64
  let limit: Int

  var parameters: [any PostgresValue] {
    [
      AllotmentID.make(partition: partition, sequence: from),
      AllotmentID.make(partition: partition + 1, sequence: 0), Int64(limit), partition,
    ]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> NumberedMessage { try GrantRow.message(row) }
}

/// A grant as a row of these columns: id, ordinal, campaign, budget day, amount, serve-until, click rates, when it
/// was granted.
enum GrantRow {
  static func message(_ row: PostgresRow) throws(PostgresError) -> NumberedMessage {
    let id: UInt64 = try row.decode(0)
    let grant = AllotmentGrant(
      allotment: id, ordinal: try row.decode(1), campaign: try row.decode(2), budgetDay: try row.decode(3),
      amount: try row.decode(4), serveUntil: try row.decode(5), clickRates: try row.decode(6))
    return BillingService.message(
      grant, partition: Int32(truncatingIfNeeded: AllotmentID.partition(of: id)), grantedAt: try row.decode(7))
  }
}
