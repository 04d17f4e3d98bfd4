package import AdCore
internal import AdEvents
package import Pipeline

/// Decides what each accepted event of one partition is paid from, and which asks may be granted.
///
/// An event is charged to its allotment, a row that no other partition touches, when it fits there. What does not fit
/// draws on free budget; asks, closes and ends move it. All of that the database decides at the commit, because the
/// free budget is shared. A draw that finds too little there waits, in its order, while allotments that have not ended
/// may still return it (B4); the timer tries what waits again, and so does every batch that moves its budgets.
package struct BillingDecider: PartitionDecider {
  package typealias Service = BillingService

  /// The most allotments that one batch ends.
  static let endsMaximum = 5_000
  /// Between two tries of what waits for budget, in milliseconds.
  static let retryIntervalMilliseconds: Int64 = 1_000

  private let settings: BillingSettings
  /// Allotments of the partition that have not ended.
  package private(set) var open: OpenAllotments
  /// Where events of the partition may be waiting for budget; the tables say whether they do.
  private var waiting: Set<BudgetKey>
  /// When what waits is tried again.
  private var nextRetry = Timestamp(milliseconds: .min)
  /// The asks that the batch being committed leaves to the database, and when: where a grant's campaign belongs.
  private var asked: [AllotmentAsk] = []
  private var askedAt = (partition: Int32(0), time: Timestamp(milliseconds: .min))
  private var refused: RefusedAsks
  private var hours: AppHours
  private var clickCounts = UnstoredClickCounts()
  /// Ads that were served by lost decisions have an id in one of these.
  private let lostServes: [Range<ServeID>]
  /// Sequences of grants that lost commits made.
  private let lostGrants: [Range<Int64>]

  /// - Parameters:
  ///   - open: every allotment of the partition that has not ended, as the tables say.
  ///   - waiting: where events of the partition wait for budget, as the tables say.
  ///   - hours: what came of apps' last hours, as the tables say.
  ///   - lostServes: ids of ads that were served by decisions which the database has lost.
  ///   - lostGrants: sequences of grants that it has lost: nobody knows of them any more.
  ///   - memory: what the partitions of a process share.
  package init(
    settings: BillingSettings, open: [OpenAllotment], waiting: Set<BudgetKey>, hours: StoredAppHours,
    lostServes: [Range<ServeID>] = [], lostGrants: [Range<Int64>] = [], memory: BillingMemory = BillingMemory()
  ) {
    self.lostServes = lostServes
    self.lostGrants = lostGrants
    self.settings = settings
    self.open = OpenAllotments(open)
    self.waiting = waiting
    self.hours = AppHours(hours, memory: memory)
    refused = RefusedAsks(waits: settings.askAgainMilliseconds)
  }

  package func query(for records: [InputRecord<BillingInput>], context: BatchContext) -> BillingQuery? {
    var query = BillingQuery(isOfWaiting: records.isEmpty && !waiting.isEmpty)
    for record in records {
      switch record.event {
      case .ask(let ask): query.campaigns.insert(ask.campaign)
      case .event(let event) where event.isCounted && !context.isRefused:
        query.appHours.formUnion(hours.unknown(of: event))
      case .event, .report, .watermark, .rejected: break
      }
    }
    return query.isEmpty ? nil : query
  }

  package mutating func decide(
    _ records: [InputRecord<BillingInput>], knowing knowledge: BillingKnowledge?, context: BatchContext
  ) -> BatchDecision<BillingEffects> {
    asked.empty()
    hours.begin(knowledge?.appHours ?? [:])
    var decision = BatchDecision(
      outcomes: Array(repeating: .noted, count: records.count),
      effects: BillingEffects(settings: settings, partitionCount: context.partitionCount))
    for (index, record) in records.enumerated() {
      if let refusal = context.refusal {
        putAside(record, at: index, refusal: refusal, into: &decision)
        continue
      }
      switch record.event {
      case .event(let event):
        decision.outcomes[index] = decide(
          event, sequence: record.sequence.value, context: context, into: &decision.effects)
      case .ask(let ask):
        decide(ask, knowing: knowledge, context: context, into: &decision)
      case .report(let report):
        decide(report, into: &decision.effects)
      case .watermark:
        break
      case .rejected(let rejection):
        decision.reject(index, rejection.reason, rejection.detail)
      }
    }
    // Only in a timer's batch: should the database refuse an end, events are decided all the same.
    if records.isEmpty {
      end(context: context, into: &decision.effects)
      retry(knowledge?.waiting ?? [], context: context, into: &decision.effects)
    }
    decision.effects.clickCounts = clickCounts.take(context.now)
    waiting.formUnion(decision.effects.draws.map(\.budget))
    askedAt = (context.partition, context.now)
    hours.end()
    return decision
  }

  /// What cannot be undone row by row is read again from the tables.
  package mutating func revert() -> Bool { false }

  package mutating func committed(_ result: CommitResult) -> [OutgoingMessage] {
    defer { asked.empty() }
    let grants = result.messages.compactMap { BillingService.grant(of: $0.message) }
    let asks = Dictionary(asked.map { (AskName($0), $0) }) { first, _ in first }
    for grant in grants {
      guard let ask = asks[AskName(grant)] else { continue }
      refused.forget(BudgetKey(ask))
      open.insert(
        OpenAllotment(
          id: grant.allotment, budget: BudgetKey(ask), amount: grant.amount.value, clickRates: grant.clickRates,
          serveUntil: grant.serveUntil))
    }
    // Among them may be one for what was granted long ago: whoever has read of that pays no heed.
    let granted = Set(grants.map(AskName.init))
    return asked.filter { !granted.contains(AskName($0)) }.map { ask in
      BillingService.message(
        refused.refuse(ask, now: askedAt.time), partition: askedAt.partition, now: askedAt.time)
    }
  }

  package func isTimerDue(_ context: BatchContext) -> Bool {
    !waiting.isEmpty && nextRetry <= context.now || open.hasServed(before: endLimit(context))
      || clickCounts.isDue(context.now)
  }

  // MARK: Events

  private mutating func decide(
    _ event: AcceptedEvent, sequence: Int64, context: BatchContext, into effects: inout BillingEffects
  ) -> Outcome {
    // Test traffic is never billed (A2): its sequence is taken, and nothing else is written (I8).
    if event.terms.isTest { return .accepted }
    guard let share = RevenueShare(basisPoints: event.terms.shareBasisPoints), event.price.value >= 0 else {
      effects.suspended.append(
        .init(event: event, sequence: sequence, reason: "its price or its share cannot be"))
      return .suspense
    }
    if event.verdict != .billable {
      effects.charges.append(.init(event: event, fate: .free(event.verdict)))
      return .free(event.verdict)
    }
    let isBeyond = hours.count(
      event, caps: settings.caps, impressionsUpTo: context.consumedWatermarks[BillingService.impressionsInput],
      partitionCount: context.partitionCount, into: &effects.appHours)
    let isLost = lostServes.contains { $0.contains(event.terms.serveID) }
    if let hold = isLost ? .decisionLost : isBeyond, event.price != .zero {
      effects.held.append(.init(event: event, reason: hold))
      return .held
    }
    clickCounts.count(event)
    let payer = open.charge(event)
    if let payer, payer.charge != AllotmentCharge() {
      effects.allotmentCharges[payer.id, default: AllotmentCharge()] += payer.charge
    }
    if payer != nil || event.price == .zero {
      let parts = share.split(event.price)
      effects.journal.charge(parts, terms: event.terms)
      effects.charges.append(.init(event: event, fate: .charged, parts: parts, payer: payer?.id))
      return .accepted
    }
    effects.draws.append(
      .init(
        charge: effects.charges.count, budget: BudgetKey(event.terms),
        isLate: hasEnded(event.terms.allotment, context: context)))
    effects.charges.append(.init(event: event, fate: .drawing))
    return .accepted
  }

  /// An allotment that was granted to this partition and is no longer kept has ended. One that was never granted, or by a
  /// commit that was lost, cannot have: what names it is owed to the developer as if it were open.
  private func hasEnded(_ id: UInt64, context: BatchContext) -> Bool {
    guard open[id] == nil, AllotmentID.partition(of: id) == UInt64(UInt32(bitPattern: context.partition)) else {
      return false
    }
    let sequence = AllotmentID.sequence(of: id)
    return (1..<max(context.nextSequences[0], 1)).contains(sequence) && !lostGrants.contains { $0.contains(sequence) }
  }

  /// The database refuses this record: an event goes into suspense, anything else is left out.
  private func putAside(
    _ record: InputRecord<BillingInput>, at index: Int, refusal: String,
    into decision: inout BatchDecision<BillingEffects>
  ) {
    switch record.event {
    case .event(let event):
      decision.outcomes[index] = .suspense
      decision.effects.suspended.append(.init(event: event, sequence: record.sequence.value, reason: refusal))
    case .rejected:
      decision.reject(index, .refusedByDatabase, "the database refused this record")
    case .ask, .report, .watermark:
      decision.outcomes[index] = .suspense
    }
  }

  // MARK: Allotments

  /// Leaves to the database what may be granted now: a live campaign of this account, on its budget day of today.
  /// Anything else is refused.
  private mutating func decide(
    _ ask: AllotmentAsk, knowing knowledge: BillingKnowledge?, context: BatchContext,
    into decision: inout BatchDecision<BillingEffects>
  ) {
    guard let campaign = knowledge?.campaigns[ask.campaign], campaign.advertiser == ask.advertiser,
      campaign.currency == ask.currency,
      let endsAt = campaign.servesUntil(day: ask.budgetDay, now: context.now), ask.fullPrice.value > 0,
      ask.usedLastMinute.value >= 0, (0...ask.fullPrice.value).contains(ask.clickPrice.value)
    else {
      decision.answers.append(
        BillingService.message(refused.refuse(ask, now: context.now), partition: context.partition, now: context.now))
      return
    }
    asked.append(ask)
    let counts = knowledge?.clickCounts[ask.campaign] ?? ClickCounts()
    decision.effects.asks.append(
      .init(
        budget: BudgetKey(ask), ordinal: ask.ordinal, fullPrice: ask.fullPrice, clickPrice: ask.clickPrice,
        usedLastMinute: ask.usedLastMinute, endsAt: endsAt, clickRates: counts.bounds(prior: settings.prior)))
  }

  /// Once, by the allotment's state: a report that comes again changes nothing.
  private mutating func decide(_ report: AllotmentReport, into effects: inout BillingEffects) {
    guard let allotment = open[report.allotment], !allotment.isClosed, report.used.value >= 0,
      report.usedForClicks.value >= 0
    else { return }
    open.close(report.allotment, used: report.used, forClicks: report.usedForClicks)
    refused.forget(allotment.budget)
    effects.closes.append(
      .init(
        allotment: report.allotment, used: report.used, usedForClicks: report.usedForClicks,
        closedAt: report.closedAt, budget: allotment.budget))
  }

  /// Ends what both watermarks have passed: nothing that was sold from it can come any more in time.
  private mutating func end(context: BatchContext, into effects: inout BillingEffects) {
    for allotment in context.timer.of(open.served(before: endLimit(context)), most: Self.endsMaximum) {
      effects.ends.append(.init(allotment: allotment.id, budget: allotment.budget))
      open.remove(allotment.id)
      refused.forget(allotment.budget)
    }
  }

  /// Leaves to the database which of the events that wait can be paid now, or never. Those of other partitions may have
  /// freed budget since, so it is tried again and again.
  private mutating func retry(
    _ budgets: Set<BudgetKey>, context: BatchContext, into effects: inout BillingEffects
  ) {
    guard context.timer.maximum > 0 else { return }
    waiting = budgets
    effects.retried = budgets
    nextRetry = context.now.advanced(byMilliseconds: Self.retryIntervalMilliseconds)
  }

  private func endLimit(_ context: BatchContext) -> Timestamp {
    [BillingService.impressionsInput, BillingService.clicksInput].map { context.consumedWatermarks[$0] }
      .reduce(Timestamp(milliseconds: .max), min).advanced(byMilliseconds: -settings.endDelayMilliseconds)
  }
}

extension AcceptedEvent {
  /// Whether it counts in its app's hour, if its price and share can be.
  fileprivate var isCounted: Bool { !terms.isTest && verdict == .billable }
}

/// What a grant and the ask that it answers have in common.
private struct AskName: Hashable {
  let campaign: CampaignID
  let budgetDay: Int32
  let ordinal: Int64

  init(_ ask: AllotmentAsk) { (campaign, budgetDay, ordinal) = (ask.campaign, ask.budgetDay, ask.ordinal) }

  init(_ grant: AllotmentGrant) { (campaign, budgetDay, ordinal) = (grant.campaign, grant.budgetDay, grant.ordinal) }
}

extension RecordSequence {
  /// The record's number; 0 where it has none.
  var value: Int64 { if case .number(let number) = self { number } else { 0 } }
}
