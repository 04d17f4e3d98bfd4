internal import AdCore
internal import Postgres

/// What live traffic adds up to so far.
struct ReadLiveFigures: PostgresStatement {
  static let sql = """
    SELECT coalesce(sum(requests), 0)::bigint, coalesce(sum(fills), 0)::bigint, coalesce(sum(impressions), 0)::bigint,
      coalesce(sum(clicks), 0)::bigint
    FROM reporting.by_dimension WHERE dimension = 'all' AND NOT is_test
    """

  static func decode(_ row: PostgresRow) throws(PostgresError) -> LiveFigures {
    var figures = LiveFigures()
    figures.requests = try row.decode(0)
    figures.filled = try row.decode(1)
    figures.impressions = try row.decode(2)
    figures.clicks = try row.decode(3)
    return figures
  }
}

/// What live traffic is worth so far, in each currency.
struct ReadLiveMoney: PostgresStatement {
  static let sql = """
    SELECT currency, sum(gross_nanos)::numeric(38,0), sum(developer_nanos)::numeric(38,0)
    FROM reporting.by_dimension WHERE dimension = 'all' AND NOT is_test AND currency IS NOT NULL GROUP BY currency
    """

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (Currency, LiveFigures.Money) {
    (try row.decode(0), LiveFigures.Money(spend: try row.decode(1), earnings: try row.decode(2)))
  }
}
