import AdCore
import BillingCore

/// B4: what a budget can still pay is not lost. An event that no budget can pay now waits, in its order, while pieces of
/// budget that have not ended may return enough.
extension MoneyAudit {
  /// Looks at what waited and has a fate since this batch: campaign by campaign and day by day, each in its order. A
  /// batch of the timer looks at everything.
  func settleWaiting(_ partition: Int32, _ batch: BatchRow, _ number: Int64, _ state: inout State) {
    var stopped: Set<String> = []
    var left: [Event] = []
    let budgets = Dictionary(grouping: state.waiting[partition] ?? []) { BudgetKey($0.terms) }
    for event in budgets.sorted(by: { $0.key < $1.key }).flatMap(\.value) {
      let (campaign, day) = (event.terms.campaign, event.terms.budgetDay)
      let budget = "\(campaign)/\(day)"
      let isSettled = world.billing.tables.charges[BillingTables.EventKey(event)]?.batch == number
      let canBePaid = event.price <= free(campaign, day, state)
      let isKnown = canBePaid || event.price > mostFree(campaign, day, state)
      if isSettled != (isKnown && !stopped.contains(budget)), isSettled || batch.isOfTimer {
        let waited = isSettled ? "waits no more" : "still waits"
        world.fail(
          "billing[\(partition)]: \(event.kind) \(event.sequence) \(waited) in batch \(number): its price is \(event.price), "
            + "\(free(campaign, day, state)) is free, \(mostFree(campaign, day, state)) could be")
      }
      guard isSettled else {
        stopped.insert(budget)
        left.append(event)
        continue
      }
      move(campaign, day, waiting: -event.price, &state)
      if canBePaid {
        world.coverage.note(.paidAfterWaiting)
        move(campaign, day, charged: event.price, &state)
        compare(event, partition, number, fate: 1, &state)
      } else {
        refuse(event, partition, number, &state)
      }
    }
    state.waiting[partition] = left
  }

  /// An event that no piece of budget could pay.
  func settle(_ draw: Draw, _ partition: Int32, _ batch: Int64, _ state: inout State) {
    let event = draw.event
    let (campaign, day) = (event.terms.campaign, event.terms.budgetDay)
    openDay(campaign, day, &state)
    let isBehind = (state.waiting[partition] ?? []).contains {
      $0.terms.campaign == campaign && $0.terms.budgetDay == day
    }
    let free = draw.isLate ? spare(campaign, day, state) : free(campaign, day, state)
    if event.price <= free, draw.isLate || !isBehind {
      world.coverage.note(.drawnOnFreeBudget)
      move(campaign, day, charged: event.price, &state)
      compare(event, partition, batch, fate: 1, &state)
    } else if draw.isLate {
      world.coverage.note(.lateForBilling)
      compare(event, partition, batch, fate: 3, &state)
    } else if event.price <= mostFree(campaign, day, state) {
      world.coverage.note(.waitedForBudget)
      state.waiting[partition, default: []].append(event)
      move(campaign, day, waiting: event.price, &state)
    } else {
      refuse(event, partition, batch, &state)
    }
  }

  private func refuse(_ event: Event, _ partition: Int32, _ batch: Int64, _ state: inout State) {
    world.coverage.note(.unfunded)
    state.unfunded.append(event)
    compare(event, partition, batch, fate: bears(event, partition, &state) ? 2 : 5, &state)
  }

  /// Counts what was delivered, at each level.
  func deliver(_ event: Event, _ state: inout State) {
    let (campaign, day) = (event.terms.campaign, event.terms.budgetDay)
    openDay(campaign, day, &state)
    state.funding[event.terms.advertiser, default: Account()].delivered += event.price
    state.campaigns[campaign, default: Account()].delivered += event.price
    state.days["\(campaign)/\(day)", default: Account()].delivered += event.price
  }

  /// Whatever the order of events, batches and crashes: where a budget could have paid all that was delivered, nothing is
  /// unfunded; and in the end nothing waits.
  func compareWaiting(_ state: State) {
    for event in state.unfunded {
      let (campaign, day) = (event.terms.campaign, event.terms.budgetDay)
      let levels = [state.funding[event.terms.advertiser], state.campaigns[campaign], state.days["\(campaign)/\(day)"]]
      let isBeyond = levels.contains { level in
        guard let level else { return true }
        return level.delivered > level.leastRequested ?? 0
      }
      if !isBeyond { world.fail("B4: \(event.kind) \(event.sequence) of \(campaign) is unfunded within its budget") }
    }
    let stored = world.billing.tables.waiting.filter { !$0.value.isEmpty }.mapValues {
      Set($0.map { BillingTables.EventKey($0.charge.event) })
    }
    let due = state.waiting.filter { !$0.value.isEmpty }.mapValues { Set($0.map(\.key)) }
    if stored != due { world.fail("waiting for budget are \(stored), not \(due)") }
    if world.plan.waitsForEnds, !due.isEmpty { world.fail("waiting for budget for ever: \(due)") }
  }

  // MARK: Books

  func free(_ campaign: CampaignID, _ day: Int32, _ state: State) -> Int128 { least(campaign, day, state) { $0.free } }

  /// What is free and nobody waits for.
  func spare(_ campaign: CampaignID, _ day: Int32, _ state: State) -> Int128 {
    least(campaign, day, state) { $0.free - $0.waiting }
  }

  /// What would be free if everything that is set aside came back.
  private func mostFree(_ campaign: CampaignID, _ day: Int32, _ state: State) -> Int128 {
    least(campaign, day, state) { $0.free + $0.allotted }
  }

  private func owner(of campaign: CampaignID) -> AdvertiserID? {
    world.catalogPlan.campaigns.first { $0.id == campaign }?.advertiser
  }

  private func least(
    _ campaign: CampaignID, _ day: Int32, _ state: State, _ figure: (Account) -> Int128
  ) -> Int128 {
    let levels = [
      owner(of: campaign).flatMap { state.funding[$0] }, state.campaigns[campaign], state.days["\(campaign)/\(day)"],
    ]
    .map { $0 ?? Account() }
    return levels.map(figure).min() ?? 0
  }

  func move(
    _ campaign: CampaignID, _ day: Int32, allotted: Int128 = 0, charged: Int128 = 0, waiting: Int128 = 0,
    _ state: inout State
  ) {
    func add(_ account: inout Account) {
      account.allotted += allotted
      account.charged += charged
      account.waiting += waiting
    }
    if let owner = owner(of: campaign) { add(&state.funding[owner, default: Account()]) }
    add(&state.campaigns[campaign, default: Account()])
    add(&state.days["\(campaign)/\(day)", default: Account()])
  }
}

extension BillingTables.EventKey {
  init(_ event: MoneyAudit.Event) {
    self.init(serveID: event.terms.serveID, kind: event.kind, idHash: event.idHash)
  }
}
