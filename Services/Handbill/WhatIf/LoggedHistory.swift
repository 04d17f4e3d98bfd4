internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import Operations
internal import PipelineHost
internal import Postgres

/// Live decisions in the order in which each partition made them, with what their auctions can be held again with: the
/// catalogue and the budgets of their moment. Read a few batches at a time; nothing is written.
struct LoggedHistory {
  /// What is asked for.
  struct Question: Sendable {
    var from: Timestamp
    var to: Timestamp
    var overlay = CatalogOverlay()
    /// Campaigns that are taken to have budget always.
    var funded: Set<CampaignID> = []
  }

  /// An auction with all that went into it but the budgets.
  struct Known {
    let auction: LoggedAuction
    let snapshot: CatalogSnapshot
    let rules: AuctionRules
  }

  /// What of a decision's auction is there.
  enum Auction {
    case known(Known)
    /// There was one, and nobody knows what went into it.
    case notKnown
    /// It was decided without.
    case none
  }

  typealias Visitor = (LoggedDecision, Auction, inout AuctionReplay) throws -> Void

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
  private var hasLookedUp = false
  /// Which decisions are visited; the others' auctions need not be looked up.
  private let isWanted: (LoggedDecision) -> Bool

  /// Calls `body` with each decision of the time that is wanted.
  ///
  /// - Throws: `PostgresError`, what `body` throws, or `CatalogProblems` where the changed catalogue would be none.
  static func visit(
    _ question: Question, _ connection: PostgresConnection,
    isWanted: @escaping (LoggedDecision) -> Bool = { _ in true },
    _ body: Visitor
  ) throws {
    var history = try LoggedHistory(question, connection, isWanted)
    for partition in try connection.run(ReadPartitions()) { try history.visit(partition, body) }
    guard history.hasLookedUp else { return }
    let missing = question.overlay.editedKeys.filter { !history.catalog.editedKeys.contains($0) }
    guard missing.isEmpty else {
      throw CatalogProblems(missing.map { CatalogProblem($0, "there was no such record at the time") })
    }
  }

  private init(
    _ question: Question, _ connection: PostgresConnection, _ isWanted: @escaping (LoggedDecision) -> Bool
  ) throws(PostgresError) {
    self.question = question
    self.connection = connection
    self.isWanted = isWanted
    rules = Dictionary(try connection.run(ReadAuctionRules()).map { ($0.number, $0.rules) }) { first, _ in first }
    catalog = LoggedCatalog(overlay: question.overlay)
  }

  private mutating func visit(_ partition: Int32, _ body: Visitor) throws {
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
        try connection.run(
          ReadLoggedGrants(partition: partition, batches: next...slice.last, after: oldest, upTo: newest)))
      var decisions: [LoggedDecision] = []
      if let ids = slice.ids {
        decisions = try connection.run(
          ReadLoggedAuctions(partition: partition, first: next, last: slice.last, ids: ids))
      }
      for decision in decisions { try take(decision, into: &replay, body) }
      pace.note(rows: decisions.count)
      next = slice.last + 1
    }
  }

  /// What ended earlier served no auction, whichever clock was behind.
  private var oldest: Timestamp { question.from.advanced(byMilliseconds: -60_000) }

  /// No allotment serves for longer than a day: what ends later was granted later. Without it all that were granted since
  /// would be read.
  private var newest: Timestamp { question.to.advanced(byMilliseconds: 25 * 3_600_000) }

  /// The budgets as they were before a batch. Only decisions since the first of them was granted are read, and a minute more
  /// on both sides, for clocks that differ.
  private func restore(_ replay: inout AuctionReplay, _ partition: Int32, before batch: Int64) throws(PostgresError) {
    let grants = try connection.run(
      ReadLoggedGrants(partition: partition, batches: 0...max(0, batch - 1), after: oldest, upTo: newest))
    guard let first = grants.map(\.index).min() else { return }
    replay.expect(grants)
    replay.turn(to: BatchIndex(batch: batch, index: 0), now: oldest)
    let granted = try connection.run(FindBatchTime(partition: partition, batch: first.batch)).first
    let ids = IDBounds(
      from: granted.map { $0.advanced(byMilliseconds: -60_000) } ?? Timestamp(milliseconds: 0),
      to: question.from.advanced(byMilliseconds: 60_000))
    let used = try connection.run(
      ReadUsedBefore(partition: partition, before: batch, ids: ids, allotments: grants.map(\.grant.allotment)))
    let campaigns = Dictionary(grants.map { ($0.grant.allotment, $0.grant.campaign) }) { first, _ in first }
    for (allotment, used) in used {
      if let campaign = campaigns[allotment] { replay.note(used, of: allotment, campaign: campaign) }
    }
  }

  private mutating func take(
    _ decision: LoggedDecision, into replay: inout AuctionReplay, _ body: Visitor
  ) throws {
    let now = decision.serveID.timestamp
    replay.turn(to: decision.index, now: now)
    if question.from <= now, now < question.to, isWanted(decision) {
      try body(decision, try auction(of: decision), &replay)
    }
    if let sale = decision.sale { replay.note(sale.amount, of: sale.allotment, campaign: sale.campaign) }
  }

  private mutating func auction(of decision: LoggedDecision) throws -> Auction {
    guard let auction = decision.auction else { return decision.hadAuction ? .notKnown : .none }
    guard let change = decision.catalogChange, let rules = decision.rules.flatMap({ rules[$0] }) else {
      return .notKnown
    }
    hasLookedUp = true
    let snapshot = try catalog.snapshot(
      after: change, rules: rules, now: decision.serveID.timestamp, connection)
    return .known(Known(auction: auction, snapshot: snapshot, rules: rules))
  }
}

extension LoggedDecision {
  /// Whether it had an auction, by the reason: a row of before tells nothing more of it.
  var hadAuction: Bool {
    switch reason {
    case .served, .servedHouse, .countryNotServed, .noEligibleAd, .noAllotment, .paidAdsSuspended, .paidAdsStopped,
      .paidAdsWithheld:
      true
    default: false
    }
  }
}
