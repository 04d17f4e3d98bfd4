package import AdCore
package import Postgres
internal import Runtime

/// Flags apps' hours, and reads the flags. Blocks the caller.
package struct Anomalies: Sendable {
  /// What chooses among the flags, beside the time.
  package static let dimensions: [ReportDimension] = [.app]

  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// Flags every hour since `since` in which a share is beyond its limit. A flag stays, whatever comes later, as long as
  /// its day's decisions; while it is beyond the limit its figures follow.
  package func flag(since: Timestamp, limits: AnomalyLimits) throws(PostgresError) {
    try pool.withConnection { connection throws(PostgresError) in
      _ = try connection.run(FlagAnomalies(since: since, limits: limits))
    }
  }

  /// Forgets the flags of hours before the oldest day of decisions that is kept.
  ///
  /// - Returns: how many.
  @discardableResult
  package func forget() throws(PostgresError) -> Int {
    try pool.forgetAll("SELECT console.forget_anomalies($1)")
  }

  /// For each kind, how many apps are flagged in an hour that began at `since` or later.
  package func flaggedApps(since: Timestamp) throws(PostgresError) -> [String: Int64] {
    try pool.withConnection { connection throws(PostgresError) in
      let rows = try connection.query(
        "SELECT kind, count(DISTINCT app) FROM reporting.anomaly WHERE hour >= $1 GROUP BY 1", [since])
      var apps: [String: Int64] = [:]
      for row in rows { apps[try row.decode(0)] = try row.decode(1) }
      return apps
    }
  }

  /// The flags of a report's app and time, the latest first.
  package func list(_ query: ReportQuery) throws(PostgresError) -> CutList<Anomaly> {
    try pool.snapshot { connection throws(PostgresError) in
      let rows = try connection.run(ReadAnomalies(query: query))
      return CutList(rows.map(\.flag), total: rows.first?.total ?? 0)
    }
  }
}
