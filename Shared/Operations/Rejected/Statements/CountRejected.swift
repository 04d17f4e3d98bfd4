internal import AdCore
internal import Postgres
internal import Runtime

/// How many records were rejected, by service, topic and reason.
struct CountRejected: PostgresStatement {
  static let sql = """
    SELECT service, topic, reason, count(*), count(*) FILTER (WHERE \(RejectedParameters.isWhole)), min(arrival),
      max(arrival)
    FROM \(RejectedParameters.source) WHERE \(RejectedParameters.condition)
    GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3
    """
  let query: RejectedQuery

  var parameters: [any PostgresValue] { RejectedParameters(query: query).values }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> RejectedCount {
    let reason: Int16 = try row.decode(2)
    return RejectedCount(
      service: try row.decode(0), topic: try row.decode(1), reasonNumber: UInt8(truncatingIfNeeded: reason),
      records: try row.decode(3), whole: try row.decode(4), first: try row.decode(5),
      last: try row.decode(6))
  }
}
