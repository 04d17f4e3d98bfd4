internal import Postgres

/// The windows of each service that are in force, and those that were until lately: no window is longer than 7 days, so
/// that what was replaced 8 days ago judges nothing that can still arrive.
struct ReadWindows: PostgresStatement {
  struct Window {
    /// As a reference names it, such as `click-tracking`.
    let service: String
    /// The setting, such as `HANDBILL_LATE_ARRIVAL`.
    let name: String
    /// Whether it is in force, in at least one partition.
    let isInForce: Bool
    /// In milliseconds, over all partitions.
    let shortest: Int64
    let longest: Int64
  }

  static let sql = """
    SELECT replace(service, '_', '-'), name, until IS NULL, min(milliseconds), max(milliseconds) FROM (
      SELECT service, name, milliseconds,
        lead(in_force_from) OVER (PARTITION BY service, partition, name ORDER BY in_force_from) AS until
      FROM (\(noted)) AS noted
    ) AS changes WHERE until IS NULL OR until > now() - interval '8 days' GROUP BY 1, 2, 3
    """

  /// The schemas are the program's own names.
  private static let noted = PipelineChecks.services.map { "SELECT '\($0)' AS service, * FROM \($0).windows" }
    .joined(separator: " UNION ALL ")

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Window {
    Window(
      service: try row.decode(0), name: try row.decode(1), isInForce: try row.decode(2), shortest: try row.decode(3),
      longest: try row.decode(4))
  }
}
