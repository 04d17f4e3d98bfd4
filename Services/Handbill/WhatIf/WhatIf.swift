internal import AdSelectionCore
internal import Operations
internal import Postgres

/// Holds logged auctions again, with the catalogue of their time or another, and says what changes.
enum WhatIf {
  /// - Throws: `PostgresError`, or `CatalogProblems` where the changed catalogue would be none.
  static func answer(_ question: LoggedHistory.Question, _ connection: PostgresConnection) throws -> WhatIfReport {
    var report = WhatIfReport(
      from: question.from, to: question.to, isChanged: !question.overlay.isEmpty || !question.funded.isEmpty)
    try LoggedHistory.visit(question, connection) { _, auction, replay in
      report.decisions += 1
      switch auction {
      case .known(let known):
        report.add(
          known.auction, replayed: replay.outcome(of: known.auction, in: known.snapshot, rules: known.rules))
      case .notKnown: report.notKnown += 1
      case .none: report.withoutAuction += 1
      }
    }
    return report
  }
}
