internal import AdCore
internal import AdEvents
internal import Pipeline
package import Postgres
internal import Runtime

/// Reads what the services rejected, from the table `rejected` of each. Blocks the caller.
package struct RejectedRecords: Sendable {
  /// The services that reject, as a reference names them.
  package static let services = ["ad-selection", "impression-tracking", "click-tracking", "billing"]

  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// The latest records of the query, latest first, without their bytes, and how many are kept of it.
  package func list(_ query: RejectedQuery) throws(PostgresError) -> CutList<KeptRecord> {
    try read(query, withValues: false)
  }

  /// The same with their bytes.
  package func whole(_ query: RejectedQuery) throws(PostgresError) -> CutList<KeptRecord> {
    try read(query, withValues: true)
  }

  private func read(_ query: RejectedQuery, withValues: Bool) throws(PostgresError) -> CutList<KeptRecord> {
    try pool.snapshot { connection throws(PostgresError) in
      let records = try connection.run(ReadRejected(query: query, withValues: withValues))
      guard records.count == query.rowsMaximum else { return CutList(records, total: Int64(records.count)) }
      return CutList(records, total: try connection.run(CountRejected(query: query)).reduce(0) { $0 + $1.records })
    }
  }

  /// How many there are for each reason, most first.
  package func counts(_ query: RejectedQuery) throws(PostgresError) -> [RejectedCount] {
    try pool.snapshot { connection throws(PostgresError) in
      try connection.run(CountRejected(query: query))
    }
  }

  /// How many were only counted, because there were too many in a minute: of the query's service and time, whatever their
  /// topic and reason, which nothing keeps.
  package func notKept(_ query: RejectedQuery) throws(PostgresError) -> Int64 {
    try pool.snapshot { connection throws(PostgresError) in try connection.run(CountNotKept(query: query)).first ?? 0 }
  }

  /// The batch that rejected a record; nil where retention took it.
  package func batch(of record: KeptRecord) throws(PostgresError) -> RejectingBatch? {
    try pool.snapshot { connection throws(PostgresError) in
      try connection.run(ReadRejectingBatch(record: record)).first
    }
  }
}

/// What every statement about rejected records is given.
struct RejectedParameters: Sendable {
  let query: RejectedQuery

  /// `$1` to `$5` narrow by service, topic, reason and time; `$6` to `$9` are the references.
  var values: [any PostgresValue] {
    [
      query.service, query.topic, query.reasons.isEmpty ? nil : query.reasons.map(\.number),
      query.since, query.until,
      query.references.isEmpty ? nil : query.references.map(\.service), query.references.map(\.topic),
      query.references.map(\.partition), query.references.map(\.offset),
    ]
  }

  static let source =
    "("
    + RejectedRecords.services.map { service in
      "SELECT '\(service)' AS service, * FROM \(service.replacing("-", with: "_")).rejected"
    }.joined(separator: " UNION ALL ") + ") AS r"

  static let condition = """
    ($1::text IS NULL OR service = $1) AND ($2::text IS NULL OR topic = $2)
      AND ($3::smallint[] IS NULL OR reason = ANY ($3)) AND ($4::timestamptz IS NULL OR arrival >= $4)
      AND ($5::timestamptz IS NULL OR arrival < $5)
      AND ($6::text[] IS NULL OR (service, topic, partition, record_offset) IN (
        SELECT * FROM unnest($6::text[], $7::text[], $8::int[], $9::bigint[])))
    """

  static let isWhole = "(header_names IS NOT NULL AND coalesce(octet_length(value), 0) = greatest(value_length, 0))"
}
