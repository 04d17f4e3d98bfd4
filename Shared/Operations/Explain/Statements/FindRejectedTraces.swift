internal import AdCore
internal import Postgres
internal import Runtime

/// The rejected records of some days that name an id, the first first. Of each service so many records are looked
/// through and no more, found by the index of their arrivals: a flood does not make it slow.
struct FindRejectedTraces: PostgresStatement {
  /// The most records of each service that are looked through.
  static let searchedMaximum = 5_000
  /// The most that are told.
  static let rowsMaximum = 20

  static let sql =
    "WITH searched AS MATERIALIZED ("
    + RejectedRecords.services.map { service in
      """
      (SELECT '\(service)' AS service, topic, partition, record_offset, arrival, reason, detail, value, header_values
      FROM \(service.replacing("-", with: "_")).rejected WHERE arrival >= $1 AND arrival < $2 LIMIT \(searchedMaximum))
      """
    }.joined(separator: " UNION ALL ")
      + """
      ) SELECT service, topic, partition, record_offset, arrival, reason, detail FROM searched
      WHERE header_values && $3::bytea[] OR EXISTS (SELECT FROM unnest($3::bytea[]) AS form WHERE position(form IN value) > 0)
      ORDER BY arrival, service, topic, partition, record_offset LIMIT \(rowsMaximum)
      """
  let id: UUIDv7
  let range: ServeRange

  var parameters: [any PostgresValue] {
    [
      Timestamp(milliseconds: range.from).postgres, Timestamp(milliseconds: range.to).postgres,
      RejectedTrace.forms(of: id),
    ]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> RejectedTrace {
    let reason: Int16 = try row.decode(5)
    return RejectedTrace(
      reference: RejectedReference(
        service: try row.decode(0), topic: try row.decode(1), partition: try row.decode(2), offset: try row.decode(3)),
      arrival: Timestamp(try row.decode(4)), reasonNumber: UInt8(truncatingIfNeeded: reason),
      detail: try row.decode(6))
  }
}
