internal import AdCore
package import Postgres

/// Reads reports (M6) from the reporting views: a role that may read nothing else is enough. Blocks the caller.
package struct Reports: Sendable {
  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// One report, in one snapshot. An error that it takes too long says how to ask for less.
  package func report(_ query: ReportQuery) throws(PostgresError) -> Report {
    do {
      return try read(query)
    } catch {
      var error = error
      if error.isStatementEnded { error.hint = query.advice }
      throw error
    }
  }

  private func read(_ query: ReportQuery) throws(PostgresError) -> Report {
    try pool.snapshot { connection throws(PostgresError) in
      var statements = StatementBatch()
      let parts = statements.send(ReadReport(query: query))
      let completeness = statements.send(ReadCompleteness())
      let keyless = statements.send(ReadRequestsWithoutAppKey(query: query))
      let waiting = statements.send(ReadWaiting())
      let results = try connection.run(statements)
      var report = Reports.assemble(query, try results.rows(parts), completeness: try results.rows(completeness))
      report.requestsWithoutAppKey = try results.rows(keyless).first ?? 0
      if !query.isTest {
        report.waiting = try results.rows(waiting)
        if !report.apps.isEmpty { report.standings = try connection.run(ReadStanding(apps: report.apps)) }
      }
      if report.total == ReportFigures() { report.notRegistered = try Reports.notRegistered(query, in: connection) }
      return report
    }
  }

  /// Of the apps, campaigns and ads that a query names, those that the catalogue does not have, as in ``Report/notRegistered``.
  package func notRegistered(_ query: ReportQuery) throws(PostgresError) -> [String] {
    try pool.snapshot { connection throws(PostgresError) in try Reports.notRegistered(query, in: connection) }
  }

  private static func notRegistered(
    _ query: ReportQuery, in connection: PostgresConnection
  ) throws(PostgresError) -> [String] {
    let dimensions: [ReportDimension] = [.app, .campaign, .ad]
    let keys = dimensions.compactMap { dimension in query.filter[dimension].map { "\(dimension)/\($0)" } }
    guard !keys.isEmpty, try connection.run(MayReadCatalog()).first == true else { return [] }
    var missing: [String] = []
    for key in keys where try connection.run(IsRegistered(key: key)).first != true { missing.append(key) }
    return missing
  }

  private static func assemble(
    _ query: ReportQuery, _ parts: [ReadReport.Part], completeness: [(figures: String, moment: Timestamp?)]
  ) -> Report {
    var rows: [Int64: ReportRow] = [:]
    var total = ReportFigures()
    var rowsTotal: Int64 = 0
    for part in parts {
      guard let rank = part.rank else {
        total.add(part.figures)
        continue
      }
      rowsTotal = part.groups
      rows[rank, default: ReportRow(values: ReportParameters.values(part.group, of: query.grouping))]
        .figures.add(part.figures)
    }
    // Times stand in their order, and the groups of one time by worth: the latest were chosen.
    let sorted = rows.sorted { $0.key < $1.key }.map(\.value)
    let time = query.timeIndex
    let shown = time.map { index in
      Dictionary(grouping: sorted) { $0.values[index] }.sorted { $0.key < $1.key }.flatMap(\.value)
    }
    return Report(
      query: query, rows: query.grouping.isEmpty ? [] : shown ?? sorted,
      rowsTotal: query.grouping.isEmpty ? 0 : rowsTotal, total: total, completeUntil: completeness)
  }
}

extension Report {
  /// The apps that its rows or its filter name.
  fileprivate var apps: [String] {
    let index = query.grouping.firstIndex(of: .app)
    return Set(rows.compactMap { row in index.map { row.values[$0] } } + [query.filter[.app]].compactMap(\.self))
      .sorted()
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
    neverShown += other.neverShown
    expiredUnseen += other.expiredUnseen
    shownBriefly += other.shownBriefly
    errors.merge(other.errors) { $0 + $1 }
    invalidImpressions.merge(other.invalidImpressions) { $0 + $1 }
    invalidClicks.merge(other.invalidClicks) { $0 + $1 }
    for money in other.revenue {
      if let index = revenue.firstIndex(where: { $0.currency == money.currency }) {
        revenue[index].gross += money.gross
        revenue[index].developer += money.developer
        revenue[index].network += money.network
        revenue[index].impressions += money.impressions
      } else {
        revenue.append(money)
      }
    }
    revenue.sort { $0.currency < $1.currency }
  }
}

extension PostgresPool {
  /// Calls `body` in a transaction that reads one snapshot and writes nothing.
  ///
  /// - Parameter statementMilliseconds: how long each statement may take, where that is longer than usual.
  package func snapshot<Result>(
    statementMilliseconds: Int? = nil, _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    try withConnection { connection throws(PostgresError) in
      try connection.transaction(statementMilliseconds: statementMilliseconds) { connection throws(PostgresError) in
        try connection.execute(sql: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return try body(connection)
      }
    }
  }
}
