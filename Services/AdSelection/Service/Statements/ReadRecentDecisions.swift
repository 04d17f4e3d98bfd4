internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// When those decisions of a partition were made that requests still to come may repeat or follow too soon: by their requests'
/// arrivals, those from before the last one decided, however long nobody owned the partition since.
///
/// Ids tell the time of the decision. Who was decided in time was decided within a deadline of its arrival, so two short
/// ranges hold them all: around the last request's arrival, and before the last batch (on the embedded broker, arrival is
/// when a record was read).
struct FindRecentDecisions: PostgresStatement {
  static let sql = """
    WITH bounds AS (
      SELECT least(extract(epoch FROM b.committed_at) * 1000, $4)::bigint - $2 - $3 AS latest,
        least(coalesce(i.last_timestamp, $4), $4) - $2 AS first, least(coalesce(i.last_timestamp, $4), $4) + $3 AS last
      FROM ad_selection.partition p LEFT JOIN ad_selection.batch b USING (partition, batch_number)
        LEFT JOIN ad_selection.input i ON i.partition = p.partition AND i.topic = $5
      WHERE p.partition = $1
    )
    SELECT latest, first, least(latest, last) FROM bounds
    """
  /// How much later a decision may be made than the last deadline, for clocks that differ.
  private static let slackMilliseconds: Int64 = 10_000
  let partition: Int32
  /// How far back from the last request's arrival.
  let memoryMilliseconds: Int64
  let now: Timestamp

  var parameters: [any PostgresValue] {
    [
      partition, memoryMilliseconds, FieldLimits.deadlineMilliseconds.upperBound + Self.slackMilliseconds,
      now.milliseconds, Topic.requests.name,
    ]
  }

  /// - Returns: since when the latest were made, and between which moments the earlier ones.
  static func decode(_ row: PostgresRow) throws(PostgresError) -> [IDBounds] {
    let (latest, first, last): (Int64, Int64, Int64) = (try row.decode(0), try row.decode(1), try row.decode(2))
    func moment(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: max(0, milliseconds)) }
    return [
      IDBounds(from: moment(latest), to: Timestamp(milliseconds: .max)),
      IDBounds(from: moment(first), to: moment(last - 1)),
    ]
  }
}

/// The decisions of a partition within two ranges of ids; of more than can be remembered the newest.
struct ReadRecentDecisions: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT serve_id, request_id, client_hash, placement, arrival, reason
    FROM (
      SELECT * FROM ad_selection.stored_decisions($3, $4) UNION ALL SELECT * FROM ad_selection.stored_decisions($5, $6)
    ) AS decision
    WHERE partition = $1 ORDER BY serve_id DESC LIMIT $2
    """
  let partition: Int32
  let ranges: [IDBounds]

  var parameters: [any PostgresValue] {
    [partition, Int64(SelectionMemory.readMaximum)] + ranges.flatMap { [$0.lowest, $0.highest] }
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> StoredDecision {
    let id: ServeID = try row.decode(0)
    // A request with a mistake may have named anything in place of a version 7.
    let requestID: PostgresUUID = try row.decode(1)
    return StoredDecision(
      id: id, requestID: UUIDv7(asWritten: requestID.high, low: requestID.low), client: try row.decode(2),
      placement: PlacementID(try row.decode(3)), moment: min(try row.decode(4), id.timestamp),
      reason: try row.decode(5))
  }
}
