internal import AdCore
internal import Postgres
internal import Runtime

/// The batch of a rejected record, with its range in the record's topic.
struct ReadRejectingBatch: PostgresStatement {
  static let sql =
    RejectedRecords.services.map { service in
      """
      SELECT b.committed_at, r.first_offset, r.next_offset, b.first_arrival, b.last_arrival
      FROM \(service.replacing("-", with: "_")).batch b,
        unnest(b.input_topics, b.first_offsets, b.next_offsets) AS r (topic, first_offset, next_offset)
      WHERE '\(service)' = $1 AND b.partition = $2 AND b.batch_number = $3 AND r.topic = $4
      """
    }.joined(separator: " UNION ALL ")
  let record: KeptRecord

  var parameters: [any PostgresValue] {
    [record.reference.service, record.reference.partition, record.batchNumber, record.reference.topic]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> RejectingBatch {
    var arrivals: ClosedRange<Timestamp>?
    if let first: Timestamp = try row.decode(3), let last: Timestamp = try row.decode(4), first <= last {
      arrivals = first...last
    }
    return RejectingBatch(
      committedAt: try row.decode(0), firstOffset: try row.decode(1), nextOffset: try row.decode(2),
      arrivals: arrivals)
  }
}
