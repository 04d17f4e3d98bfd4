internal import AdCore
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// The latest rejected records of a query.
struct ReadRejected: PostgresStatement {
  static let sql = """
    SELECT service, topic, partition, record_offset, batch_number, arrival, reason, detail,
      CASE WHEN $10 THEN value END, coalesce(octet_length(value), 0)::bigint, value_length, value_hash, record_key,
      header_names, header_values
    FROM \(RejectedParameters.source) WHERE \(RejectedParameters.condition)
    ORDER BY arrival DESC, topic, partition, record_offset DESC LIMIT $11
    """
  let query: RejectedQuery
  let withValues: Bool

  var parameters: [any PostgresValue] {
    RejectedParameters(query: query).values + [withValues, Int64(query.rowsMaximum)]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> KeptRecord {
    let reason: Int16 = try row.decode(6)
    return KeptRecord(
      reference: RejectedReference(
        service: try row.decode(0), topic: try row.decode(1), partition: try row.decode(2), offset: try row.decode(3)),
      batchNumber: try row.decode(4), arrival: try row.decode(5),
      reasonNumber: UInt8(truncatingIfNeeded: reason), detail: try row.decode(7), value: try row.decode(8),
      keptBytes: try row.decode(9), valueLength: try row.decode(10), valueHash: try row.decode(11),
      key: try row.decode(12), headers: try row.headers(13))
  }
}
