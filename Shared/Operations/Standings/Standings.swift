package import AdCore
internal import JSON
package import Postgres
internal import Runtime

/// Measures what apps let become of ads' actions, and lowers and raises by it what they are offered (A7). Blocks the
/// caller.
package struct Standings: Sendable {
  /// What one pass did.
  package struct Pass: Hashable, Sendable {
    /// Standings that were written or taken out.
    package var changes: Int32
    /// Apps that are offered less than everything now.
    package var loweredApps: Int
  }

  private static let dayMilliseconds: Int64 = 86_400_000

  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// Measures once, and writes what is news. An app whose offer is whole again, or that is no more, loses its standing.
  package func measure(now: Timestamp) throws(PostgresError) -> Pass {
    try pool.withConnection { connection throws(PostgresError) in
      let rules = try connection.run(ReadStandingRules()).first ?? StandingRules()
      let today = now.milliseconds / Standings.dayMilliseconds
      let inForce = try connection.run(ReadStandingsInForce())
      let told = try connection.run(ReadActionDays(firstDay: today - rules.days + 1))
      let measured = Dictionary(grouping: told, by: \.app).map { app, days in
        rules.standing(
          of: app,
          days.map { ActionDay(daysAgo: max(0, today - $0.day), stopped: $0.stopped, tapped: $0.tapped) })
      }
      return try write(measured, inForce: inForce, in: connection)
    }
  }

  private func write(
    _ measured: [AppStanding], inForce: [ReadStandingsInForce.Row], in connection: PostgresConnection
  ) throws(PostgresError) -> Pass {
    let before = Dictionary(inForce.map { ($0.app, $0.offerPartsPerMillion) }) { first, _ in first }
    let news = measured.filter {
      StandingRules.isNews($0.offerPartsPerMillion, inForce: before[$0.app] ?? AppStanding.whole)
    }
    let lowered = news.filter { $0.offerPartsPerMillion < AppStanding.whole }
    let whole = Set(measured.filter { $0.offerPartsPerMillion == AppStanding.whole }.map(\.app))
    let known = Set(measured.map(\.app))
    let gone = inForce.filter { whole.contains($0.app) || !known.contains($0.app) || !$0.isAppThere }.map(\.app)
    let kept = Set(inForce.map(\.app)).subtracting(gone).union(lowered.map(\.app))
    guard !lowered.isEmpty || !gone.isEmpty else { return Pass(changes: 0, loweredApps: kept.count) }
    let changes = try connection.run(WriteStandings(lowered: lowered, gone: gone)).first ?? 0
    return Pass(changes: changes, loweredApps: kept.count)
  }
}
