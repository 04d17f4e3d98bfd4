import Postgres

/// What is told and not billed of each group, by kind and reason.
struct ReadInvalid: PostgresStatement {
  struct Invalid {
    let group: [String?]
    /// `impression` or `click`.
    let kind: String
    let reason: String
    let events: Int64
  }

  static let sql = """
    SELECT \(ReportParameters.group) AS value, kind, reason, sum(events)::bigint
    FROM reporting.invalid_minute WHERE \(ReportParameters.condition) GROUP BY 1, 2, 3
    """
  let query: ReportQuery

  var parameters: [any PostgresValue] { ReportParameters(query: query).values }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Invalid {
    Invalid(group: try row.decode(0), kind: try row.decode(1), reason: try row.decode(2), events: try row.decode(3))
  }
}
