internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// The partitions of ad selection.
struct ReadPartitions: PostgresStatement {
  static let sql = "SELECT partition FROM ad_selection.partition ORDER BY partition"

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int32 { try row.decode(0) }
}

/// The batch of a partition's first decision from one moment up to another.
struct FindFirstBatch: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT batch_number FROM (
      (SELECT serve_id, batch_number FROM ad_selection.decision_row
      WHERE serve_id >= public.first_uuid_at($2) AND serve_id < public.first_uuid_at($3) AND partition = $1
      ORDER BY serve_id LIMIT 1)
      UNION ALL
      (SELECT serve_id, batch_number FROM ad_selection.decision_pack
      WHERE serve_id >= public.first_uuid_of_span(public.first_uuid_at($2), 1000)
        AND serve_id < public.first_uuid_at($3) AND last_serve_id >= public.first_uuid_at($2) AND partition = $1
      ORDER BY serve_id LIMIT 1)
    ) AS earliest
    ORDER BY serve_id LIMIT 1
    """
  let partition: Int32
  let from: Timestamp
  let to: Timestamp

  var parameters: [any PostgresValue] { [partition, from, to] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int64 { try row.decode(0) }
}

/// The allotments that were granted to a partition in some batches, and serve beyond a moment and not beyond another.
struct ReadLoggedGrants: PostgresStatement {
  static let sql = """
    SELECT batch_number, batch_index, id, ordinal, campaign, budget_day, amount, serve_until, click_rates
    FROM ad_selection.allotment
    WHERE partition = $1 AND batch_number BETWEEN $2 AND $3 AND serve_until > $4 AND serve_until <= $5
    """
  let partition: Int32
  let batches: ClosedRange<Int64>
  let after: Timestamp
  let upTo: Timestamp

  var parameters: [any PostgresValue] { [partition, batches.lowerBound, batches.upperBound, after, upTo] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> LoggedGrant {
    LoggedGrant(
      index: BatchIndex(batch: try row.decode(0), index: try row.decode(1)),
      grant: AllotmentGrant(
        allotment: try row.decode(2), ordinal: try row.decode(3), campaign: try row.decode(4),
        budgetDay: try row.decode(5), amount: try row.decode(6), serveUntil: try row.decode(7),
        clickRates: try row.decode(8)))
  }
}

/// When a batch was committed.
struct FindBatchTime: PostgresStatement {
  static let sql = "SELECT committed_at FROM ad_selection.batch WHERE partition = $1 AND batch_number = $2"
  let partition: Int32
  let batch: Int64

  var parameters: [any PostgresValue] { [partition, batch] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Timestamp { try row.decode(0) }
}

/// What a partition had used of allotments before a batch, by decisions with ids between two.
struct ReadUsedBefore: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT allotment, sum(reserved)::bigint FROM ad_selection.stored_decisions($3, $4) AS decision
    WHERE partition = $1 AND batch_number < $2 AND allotment = ANY ($5)
    GROUP BY allotment
    """
  let partition: Int32
  let before: Int64
  let ids: IDBounds
  let allotments: [UInt64]

  var parameters: [any PostgresValue] { [partition, before, ids.lowest, ids.highest, allotments] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (allotment: UInt64, used: Nanos) {
    (try row.decode(0), try row.decode(1, Nanos?.self) ?? .zero)
  }
}
