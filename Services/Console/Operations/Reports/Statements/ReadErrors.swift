import Postgres

/// The errors of each group, by code of rules E.
struct ReadErrors: PostgresStatement {
  struct Errors {
    let group: [String?]
    let code: Int16
    let count: Int64
  }

  static let sql = """
    SELECT \(ReportParameters.group) AS value, error, sum(errors)::bigint
    FROM reporting.minute WHERE errors > 0 AND error IS NOT NULL AND \(ReportParameters.condition) GROUP BY 1, error
    """
  let query: ReportQuery

  var parameters: [any PostgresValue] { ReportParameters(query: query).values }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Errors {
    Errors(group: try row.decode(0), code: try row.decode(1), count: try row.decode(2))
  }
}
