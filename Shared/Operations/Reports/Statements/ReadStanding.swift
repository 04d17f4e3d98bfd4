internal import AdCore
internal import Postgres
internal import Runtime

/// What apps are offered (A7); those that are offered everything have no row.
struct ReadStanding: PostgresStatement {
  static let sql = """
    SELECT app, offered_percent::text, stopped, tapped, since FROM reporting.app_standing WHERE app = ANY ($1) ORDER BY app
    """
  let apps: [String]

  var parameters: [any PostgresValue] { [apps] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> ReportStanding {
    ReportStanding(
      app: try row.decode(0), offeredPercent: try row.decode(1), stopped: try row.decode(2), tapped: try row.decode(3),
      since: try row.decode(4))
  }
}
