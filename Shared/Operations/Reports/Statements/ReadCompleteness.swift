internal import AdCore
internal import Postgres
internal import Runtime

/// Up to when the figures are complete.
struct ReadCompleteness: PostgresStatement {
  static let sql = "SELECT figures, complete_until FROM reporting.completeness ORDER BY figures"

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (figures: String, moment: Timestamp?) {
    (figures: try row.decode(0), moment: try row.decode(1))
  }
}
