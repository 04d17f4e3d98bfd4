internal import Postgres

/// What live traffic adds up to so far.
struct ReadLiveFigures: PostgresStatement {
  static let sql = """
    SELECT coalesce(sum(requests), 0)::bigint, coalesce(sum(fills), 0)::bigint, coalesce(sum(impressions), 0)::bigint,
      coalesce(sum(clicks), 0)::bigint, coalesce(sum(gross_nanos), 0)::numeric(38,0),
      coalesce(sum(developer_nanos), 0)::numeric(38,0)
    FROM reporting.minute WHERE NOT is_test
    """

  static func decode(_ row: PostgresRow) throws(PostgresError) -> LiveFigures {
    var figures = LiveFigures()
    figures.requests = try row.decode(0)
    figures.filled = try row.decode(1)
    figures.impressions = try row.decode(2)
    figures.clicks = try row.decode(3)
    figures.spend = try row.decode(4)
    figures.earnings = try row.decode(5)
    return figures
  }
}
