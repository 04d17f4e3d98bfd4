import Postgres

/// The money of each group, by currency.
struct ReadRevenue: PostgresStatement {
  struct Revenue {
    let group: [String?]
    let revenue: ReportRevenue
  }

  static let sql = """
    SELECT \(ReportParameters.group) AS value, currency, sum(gross_nanos), sum(developer_nanos), sum(network_nanos)
    FROM reporting.minute WHERE currency IS NOT NULL AND \(ReportParameters.condition)
    GROUP BY 1, currency ORDER BY currency
    """
  let query: ReportQuery

  var parameters: [any PostgresValue] { ReportParameters(query: query).values }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Revenue {
    Revenue(
      group: try row.decode(0),
      revenue: ReportRevenue(
        currency: try row.decode(1), gross: try row.decode(2), developer: try row.decode(3),
        network: try row.decode(4)))
  }
}
