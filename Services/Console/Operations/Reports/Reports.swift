import AdCore
import Postgres

/// Reads reports (M6) from the reporting views: a role that may read nothing else is enough. Blocks the caller.
package struct Reports: Sendable {
  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// One report, in one snapshot.
  package func report(_ query: ReportQuery) throws(PostgresError) -> Report {
    try pool.snapshot { connection throws(PostgresError) in
      var pipeline = PostgresPipeline()
      let counts = pipeline.send(ReadCounts(query: query))
      let revenue = pipeline.send(ReadRevenue(query: query))
      let errors = pipeline.send(ReadErrors(query: query))
      let invalid = pipeline.send(ReadInvalid(query: query))
      let completeness = pipeline.send(ReadCompleteness())
      let results = try connection.run(pipeline)
      let groups = Reports.groups(
        try results.rows(counts), try results.rows(revenue), try results.rows(errors), try results.rows(invalid))
      return Reports.assemble(query, groups: groups, completeness: try results.rows(completeness))
    }
  }

  private static func groups(
    _ counts: [ReadCounts.Counts], _ revenue: [ReadRevenue.Revenue], _ errors: [ReadErrors.Errors],
    _ invalid: [ReadInvalid.Invalid]
  ) -> [[String?]: ReportFigures] {
    var groups = Dictionary(counts.map { ($0.group, $0.figures) }) { first, _ in first }
    for row in revenue { groups[row.group, default: ReportFigures()].revenue.append(row.revenue) }
    for row in errors { groups[row.group, default: ReportFigures()].errors[row.code, default: 0] += row.count }
    for row in invalid {
      if row.kind == "impression" {
        groups[row.group, default: ReportFigures()].invalidImpressions[row.reason, default: 0] += row.events
      } else {
        groups[row.group, default: ReportFigures()].invalidClicks[row.reason, default: 0] += row.events
      }
    }
    return groups
  }

  private static func assemble(
    _ query: ReportQuery, groups: [[String?]: ReportFigures], completeness: [(figures: String, moment: Timestamp?)]
  ) -> Report {
    let rows = groups.map { group, figures in
      ReportRow(values: ReportParameters.values(group, of: query.grouping), figures: figures)
    }.sorted { $0.values.lexicographicallyPrecedes($1.values) }
    return Report(
      query: query, rows: query.grouping.isEmpty ? [] : Array(rows.prefix(query.rowsMaximum)),
      isCut: !query.grouping.isEmpty && rows.count > query.rowsMaximum,
      total: rows.reduce(into: ReportFigures()) { $0.add($1.figures) }, completeUntil: completeness)
  }
}

extension ReportFigures {
  /// Adds another row's. Counts are of events that were each stored, and so far below what 64 bits hold; money is held
  /// to 38 digits by the database.
  mutating func add(_ other: ReportFigures) {
    requests += other.requests
    fills += other.fills
    rendered += other.rendered
    impressions += other.impressions
    unloaded += other.unloaded
    taps += other.taps
    clicks += other.clicks
    stoppedActions += other.stoppedActions
    errors.merge(other.errors) { $0 + $1 }
    invalidImpressions.merge(other.invalidImpressions) { $0 + $1 }
    invalidClicks.merge(other.invalidClicks) { $0 + $1 }
    for money in other.revenue {
      if let index = revenue.firstIndex(where: { $0.currency == money.currency }) {
        revenue[index].gross += money.gross
        revenue[index].developer += money.developer
        revenue[index].network += money.network
      } else {
        revenue.append(money)
      }
    }
    revenue.sort { $0.currency < $1.currency }
  }
}

extension PostgresPool {
  /// Calls `body` in a transaction that reads one snapshot and writes nothing.
  package func snapshot<Result>(
    _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    try withConnection { connection throws(PostgresError) in
      try connection.transaction { connection throws(PostgresError) in
        try connection.execute(sql: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return try body(connection)
      }
    }
  }
}
