internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// The decisions of a partition that requests still to come may repeat or follow too soon: by their requests' arrivals,
/// those from before the last one decided, however long nobody owned the partition since.
///
/// Ids tell the time of the decision. Who was decided in time was decided within a deadline of its arrival, so two short
/// ranges hold them all: around the last request's arrival, and before the last batch (on the embedded broker, arrival is
/// when a record was read). Of more than can be remembered they are the newest.
struct ReadRecentDecisions: PostgresStatement {
  static let sql = """
    WITH bounds AS (
      SELECT least(extract(epoch FROM b.committed_at) * 1000, $4)::bigint - $2 - $3 AS latest,
        least(coalesce(i.last_timestamp, $4), $4) - $2 AS first, least(coalesce(i.last_timestamp, $4), $4) + $3 AS last
      FROM ad_selection.partition p LEFT JOIN ad_selection.batch b USING (partition, batch_number)
        LEFT JOIN ad_selection.input i ON i.partition = p.partition AND i.topic = $5
      WHERE p.partition = $1
    ), ids AS (
      SELECT rpad(lpad(to_hex(greatest(latest, 0)), 12, '0'), 32, '0')::uuid AS latest,
        rpad(lpad(to_hex(greatest(first, 0)), 12, '0'), 32, '0')::uuid AS first,
        rpad(lpad(to_hex(greatest(last, 0)), 12, '0'), 32, '0')::uuid AS last
      FROM bounds
    ), ranges AS MATERIALIZED (
      SELECT latest AS first, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid AS next FROM ids
      UNION ALL SELECT first, least(latest, last) FROM ids
    )
    SELECT serve_id, request_id, client_hash, placement, arrival, reason
    FROM ranges CROSS JOIN LATERAL ad_selection.stored_decisions(ranges.first, ranges.next) AS decision
    WHERE partition = $1 AND serve_id < ranges.next
    ORDER BY serve_id DESC LIMIT $6
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
      now.milliseconds, Topic.requests.name, Int64(SelectionMemory.readMaximum),
    ]
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
