import AdCore
import AdEvents
import AdSelectionCore
import Pipeline
import TestValues

/// Ad selection's tables in memory.
struct SelectionTables: SimulatedTables {
  typealias Service = AdSelection

  struct Row {
    var batch: Int64
    var decided: DecidedRequest
  }

  /// An allotment with its row's further columns.
  struct Allotment {
    var partition: Int32
    var row: AllotmentRow
    var reportSequence: Int64?
    /// Where it was granted, and the batch that closed it.
    var granted: BatchIndex
    var closedBatch: Int64?
  }

  private struct BudgetKey: Hashable {
    var campaign: CampaignID
    var day: Int32
  }

  private struct Ordinal: Hashable {
    var partition: Int32
    var campaign: CampaignID
    var day: Int32
    var ordinal: Int64
  }

  let settings: SelectionSettings
  let ring: KeyRing
  let sabotage: Sabotage?
  private(set) var decisions: [Int32: [Row]] = [:]
  private(set) var served: [ServeID: DecidedRequest] = [:]
  private(set) var allotments: [UInt64: Allotment] = [:]
  var counts = SimulatedCounts<SelectionCountKey, Int64> { $0 += $1 }
  /// Requests without a key that have no row, by partition.
  private(set) var beyondLimit: [Int32: Int64] = [:]
  private var ordinals: Set<Ordinal> = []

  init(ring: KeyRing, appRequestsPerHour: Int64, sabotage: Sabotage?) {
    var settings = SelectionSettings()
    settings.appRequestsPerHour = appRequestsPerHour
    self.settings = settings
    self.ring = ring
    self.sabotage = sabotage
  }

  func load(_ partition: Int32, now: Timestamp, for context: InstanceContext) throws(PipelineError) -> SelectionDecider
  {
    guard let catalog = context.catalog, let crypto = try? SelectionCrypto(ring: ring) else {
      throw .invariantBroken("no catalogue, or no crypto")
    }
    var stored = StoredState()
    let since = now.advanced(byMilliseconds: -settings.allotments.memoryMilliseconds)
    stored.allotments = rememberedAllotments(of: partition, since: since)
    let rows = (decisions[partition] ?? []).map(\.decided)
    // More than the database reads: what is older than the memory says nothing.
    stored.decisions = rows.suffix(4_000).map(StoredDecision.init)
    stored.testDay = TestSequence.day(of: now)
    for decided in rows
    where decided.decision.reason.countsForTestSequence && TestSequence.day(of: decided.id.timestamp) == stored.testDay
    {
      stored.testRequests[decided.asked.clientHash, default: 0] += 1
    }
    for decided in rows where !decided.decision.isTest && !decided.decision.reason.isWithoutAppKey {
      let moment = decided.asked.moment(now: decided.id.timestamp)
      stored.appRequests[AppRequests.Key(app: decided.asked.app, at: moment), default: 0] += 1
    }
    return SelectionDecider(
      stored: stored, catalog: catalog.source, settings: settings, crypto: crypto,
      random: SeededRandom(seed: context.random.next()))
  }

  /// Those not closed, and of each campaign and day the last of the others, as if it had ended a day later.
  private func rememberedAllotments(of partition: Int32, since: Timestamp) -> [AllotmentRow] {
    let rows = allotments.values.filter { $0.partition == partition }.map(\.row)
    let ended = rows.filter { $0.closedAt != nil }.sorted { $0.ordinal < $1.ordinal }
    let days = Dictionary(grouping: ended) { BudgetKey(campaign: $0.campaign, day: $0.budgetDay) }
    return rows.filter { $0.closedAt == nil }
      + days.values.compactMap { day in
        guard var last = day.last else { return nil }
        last.serveUntil = last.serveUntil.advanced(byMilliseconds: 86_400_000)
        return last.serveUntil > since ? last : nil
      }
  }

  func lookUp(_ query: SelectionQuery, partition: Int32) -> SelectionKnowledge {
    // What is asked for is young.
    let found = (decisions[partition] ?? []).suffix(4_000).lazy.map(\.decided).filter { query.ids.contains($0.id) }
    return SelectionKnowledge(
      Dictionary(found.compactMap { decided in EarlierDecision(decided).map { (decided.id, $0) } }) { first, _ in first
      })
  }

  func violation(of batch: CommitBatch<AdSelection>) throws(PipelineError) -> RowRefusal? {
    let effects = batch.effects
    if effects.decisions.contains(where: { $0.asked.placement == Samples.cursedPlacement }) {
      return .refused("the row of a decision is refused")
    }
    if effects.decisions.contains(where: { $0.serve != nil && served[$0.id] != nil }) { return .duplicate }
    for row in effects.opened.map(\.row) {
      if allotments[row.allotment] != nil || ordinals.contains(ordinal(row, batch.partition)) {
        throw .invariantBroken("allotment \(row.allotment) is there already")
      }
    }
    let opened = Dictionary(effects.opened.map { ($0.row.allotment, $0.row) }) { first, _ in first }
    for (id, used) in effects.used {
      guard let row = allotments[id]?.row ?? opened[id] else {
        throw .invariantBroken("allotment \(id) is not there")
      }
      if used.total > row.amount || used.forClicks > used.total || row.closedAt != nil {
        throw .invariantBroken("allotment \(id) is overused, or closed")
      }
    }
    for closed in effects.closed where allotments[closed.row.allotment]?.row.closedAt != nil {
      throw .invariantBroken("allotment \(closed.row.allotment) is closed twice")
    }
    return nil
  }

  mutating func apply(_ batch: CommitBatch<AdSelection>, for context: InstanceContext) -> CommitResult {
    let effects = batch.effects
    for decided in effects.decisions {
      decisions[batch.partition, default: []].append(Row(batch: batch.number, decided: decided))
      if decided.serve != nil { served[decided.id] = decided }
    }
    beyondLimit[batch.partition, default: 0] += effects.keylessBeyondLimit
    counts.commit(effects.decisions.map { ($0.countKey, 1) }, partition: batch.partition, batch: batch.number)
    for opened in effects.opened {
      allotments[opened.row.allotment] = Allotment(
        partition: batch.partition, row: opened.row, granted: BatchIndex(batch: batch.number, index: opened.index))
      ordinals.insert(ordinal(opened.row, batch.partition))
    }
    if sabotage != .forgetUse {
      for (id, used) in effects.used {
        allotments[id]?.row.used = used.total
        allotments[id]?.row.usedForClicks = used.forClicks
      }
    }
    for closed in effects.closed {
      allotments[closed.row.allotment]?.row.closedAt = closed.row.closedAt
      allotments[closed.row.allotment]?.reportSequence = closed.sequence
      allotments[closed.row.allotment]?.closedBatch = batch.number
    }
    return CommitResult()
  }

  private func ordinal(_ row: AllotmentRow, _ partition: Int32) -> Ordinal {
    Ordinal(partition: partition, campaign: row.campaign, day: row.budgetDay, ordinal: row.ordinal)
  }

  /// The reports of a partition, in sequence.
  func reports(_ partition: Int32) -> [Allotment] {
    allotments.values.filter { $0.partition == partition && $0.reportSequence != nil }.sorted {
      $0.reportSequence ?? 0 < $1.reportSequence ?? 0
    }
  }

  func messages(partition: Int32, output: Int, from sequence: Int64, limit: Int) -> [NumberedMessage] {
    reports(partition).lazy.filter { $0.reportSequence ?? 0 >= sequence }.prefix(limit).compactMap { stored in
      guard let sequence = stored.reportSequence, let report = AllotmentBook.report(of: stored.row) else { return nil }
      return NumberedMessage(
        output: 0, sequence: sequence,
        message: AdSelection.message(
          report, campaign: stored.row.campaign, sequence: sequence, partition: partition))
    }
  }

  /// Answers that the batch will give are what an unsafe service would send too early.
  func messages(of batch: CommitBatch<AdSelection>) -> [NumberedMessage] {
    batch.effects.closed.compactMap { closed in
      guard let report = AllotmentBook.report(of: closed.row) else { return nil }
      return NumberedMessage(
        output: 0, sequence: closed.sequence,
        message: AdSelection.message(
          report, campaign: closed.row.campaign, sequence: closed.sequence, partition: batch.partition))
    }
  }
}
