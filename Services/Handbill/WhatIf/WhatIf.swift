internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import Operations
internal import Postgres

/// Holds logged auctions again, with the catalogue of their time or another, and says what changes. It reads a
/// partition's history in the order in which it was decided, a few batches at a time, and writes nothing.
struct WhatIf {
  /// What is asked.
  struct Question: Sendable {
    var from: Timestamp
    var to: Timestamp
    var overlay = CatalogOverlay()
    /// Campaigns that are taken to have budget always.
    var funded: Set<CampaignID> = []
  }

  /// How many batches are read at once: fewer where each has many decisions.
  private struct Pace {
    private(set) var batches: Int64 = 50

    mutating func note(rows: Int) {
      if rows > 10_000 { batches = max(1, batches / 2) }
      if rows < 2_000 { batches = min(1_000, batches * 2) }
    }
  }

  private let question: Question
  private let connection: PostgresConnection
  private let rules: [Int64: AuctionRules]
  private var catalog: LoggedCatalog
  private var report: WhatIfReport

  /// - Throws: `PostgresError`, or `CatalogProblems` where the changed catalogue would be none.
  static func answer(_ question: Question, _ connection: PostgresConnection) throws -> WhatIfReport {
    var whatIf = try WhatIf(question, connection)
    for partition in try connection.run(ReadPartitions()) { try whatIf.replay(partition) }
    let missing = question.overlay.editedKeys.filter { !whatIf.catalog.editedKeys.contains($0) }
    guard missing.isEmpty || whatIf.report.auctions == 0 else {
      throw CatalogProblems(missing.map { CatalogProblem($0, "there was no such record at the time") })
    }
    return whatIf.report
  }

  private init(_ question: Question, _ connection: PostgresConnection) throws(PostgresError) {
    self.question = question
    self.connection = connection
    rules = Dictionary(try connection.run(ReadAuctionRules()).map { ($0.number, $0.rules) }) { first, _ in first }
    catalog = LoggedCatalog(overlay: question.overlay)
    report = WhatIfReport(
      from: question.from, to: question.to, isChanged: !question.overlay.isEmpty || !question.funded.isEmpty)
  }

  private mutating func replay(_ partition: Int32) throws {
    let first = FindFirstBatch(partition: partition, from: question.from, to: question.to)
    guard var next = try connection.run(first).first else { return }
    var replay = AuctionReplay(funded: question.funded)
    try restore(&replay, partition, before: next)
    var pace = Pace()
    while let slice = try connection.run(ReadBatchSlice(partition: partition, first: next, limit: pace.batches)).first
      .flatMap(\.self)
    {
      if let ids = slice.ids, Int64(ids.first.high >> 16) >= question.to.milliseconds { return }
      replay.expect(
        try connection.run(ReadLoggedGrants(partition: partition, batches: next...slice.last, after: oldest)))
      var decisions: [LoggedDecision] = []
      if let ids = slice.ids {
        decisions = try connection.run(
          ReadLoggedAuctions(partition: partition, first: next, last: slice.last, ids: ids))
      }
      for decision in decisions { try take(decision, into: &replay) }
      pace.note(rows: decisions.count)
      next = slice.last + 1
    }
  }

  /// What ended earlier served no auction, whichever clock was behind.
  private var oldest: Timestamp { question.from.advanced(byMilliseconds: -60_000) }

  /// The budgets as they were before a batch.
  private func restore(_ replay: inout AuctionReplay, _ partition: Int32, before batch: Int64) throws(PostgresError) {
    let grants = try connection.run(
      ReadLoggedGrants(partition: partition, batches: 0...max(0, batch - 1), after: oldest))
    guard let first = grants.map(\.place).min() else { return }
    replay.expect(grants)
    replay.turn(to: BatchPlace(batch: batch, place: 0), now: oldest)
    let used = try connection.run(
      ReadUsedBefore(
        partition: partition, granted: first.batch, before: batch, moment: question.from,
        allotments: grants.map(\.grant.allotment)))
    let campaigns = Dictionary(grants.map { ($0.grant.allotment, $0.grant.campaign) }) { first, _ in first }
    for (allotment, used) in used {
      if let campaign = campaigns[allotment] { replay.note(used, of: allotment, campaign: campaign) }
    }
  }

  private mutating func take(_ decision: LoggedDecision, into replay: inout AuctionReplay) throws {
    let now = decision.serveID.timestamp
    replay.turn(to: decision.place, now: now)
    if question.from <= now, now < question.to {
      report.decisions += 1
      if let auction = decision.auction {
        if let change = decision.catalogChange, let rules = decision.rules.flatMap({ rules[$0] }) {
          let snapshot = try catalog.snapshot(after: change, rules: rules, now: now, connection)
          report.add(auction, replayed: replay.outcome(of: auction, in: snapshot, rules: rules))
        } else {
          report.notKnown += 1
        }
      } else if decision.hadAuction {
        report.notKnown += 1
      } else {
        report.withoutAuction += 1
      }
    }
    if let sale = decision.sale { replay.note(sale.amount, of: sale.allotment, campaign: sale.campaign) }
  }
}

extension LoggedDecision {
  /// Whether there was one, by the reason: a row of before tells nothing more of it.
  fileprivate var hadAuction: Bool {
    switch reason {
    case .served, .servedHouse, .countryNotServed, .noEligibleAd, .noAllotment, .paidAdsSuspended, .paidAdsStopped: true
    default: false
    }
  }
}
