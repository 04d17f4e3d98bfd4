import AdCore
import AdEvents
import BillingCore
import Pipeline
import TestValues

/// What one batch does to budgets, in the order of `billing.settle`: charges, closes, ends, what waits, draws, grants.
extension BillingTables {
  struct Settlement {
    var budgets: Budgets
    /// The partition's events that wait, in their order.
    var waiting: [Waiter]
    /// Where something waits: what follows waits as well.
    var blocked: Set<BudgetKey> = []
    /// How many that waited have their fate now.
    var readyCount = 0
    var rows: [ChargeRow] = []
    /// Those of the rows whose fate was decided here.
    var drawn: [ChargeRow] = []
    var grants: [NumberedMessage] = []
    /// What the network has borne.
    var borne: [AppDay: Int128] = [:]
    /// Where an ask found less than one ad's full price.
    var exhausted: [BudgetKey] = []
  }

  func settled(_ batch: CommitBatch<BillingService>) throws(Budgets.Broken) -> Settlement {
    let effects = batch.effects
    var settlement = Settlement(budgets: budgets, waiting: waiting[batch.partition] ?? [])
    settlement.borne = borne
    let budgets = effects.budgets.sorted()
    for (id, amount) in effects.allotmentCharges { try charge(id, amount, batch, &settlement.budgets) }
    for budget in budgets { settlement.budgets.openDay(budget) }
    for close in effects.closes { try self.close(close, batch, &settlement.budgets) }
    for end in effects.ends { try self.end(end, batch, &settlement.budgets) }
    for budget in budgets { settleWaiting(at: budget, batch, &settlement) }
    for draw in effects.draws { settle(draw, batch, &settlement) }
    for ask in effects.asks { grant(ask, batch, &settlement) }
    if sabotage == nil || sabotage?.keepsConstraints == true {
      for budget in budgets { try settlement.budgets.check(budget) }
    }
    for charge in effects.charges where charge.fate != .drawing {
      settlement.rows.append(
        row(charge, developer: charge.parts?.developer.value ?? 0, network: charge.parts?.network.value ?? 0, batch))
    }
    return settlement
  }

  /// What waits at a budget, in the order in which it began to.
  private func settleWaiting(
    at budget: BudgetKey, _ batch: CommitBatch<BillingService>, _ settlement: inout Settlement
  ) {
    let here = settlement.waiting.filter { $0.draw.budget == budget }
    for waiter in here {
      guard settlement.readyCount < BillingSettings.readyMaximum,
        let fate = fate(of: waiter.price, isLate: false, at: budget, settlement.budgets), fate != .waiting
      else {
        settlement.blocked.insert(budget)
        return
      }
      settlement.readyCount += 1
      settlement.waiting.removeAll { $0.charge == waiter.charge }
      settlement.budgets.move(budget, waiting: -waiter.price)
      decide(waiter, fate, batch, &settlement)
    }
  }

  private func settle(
    _ draw: BillingEffects.Draw, _ batch: CommitBatch<BillingService>, _ settlement: inout Settlement
  ) {
    let waiter = Waiter(charge: batch.effects.charges[draw.charge], draw: draw)
    var fate = fate(of: waiter.price, isLate: draw.isLate, at: draw.budget, settlement.budgets) ?? .unfunded
    // In their order: behind what waits everything waits.
    if fate == .charged, !draw.isLate, settlement.blocked.contains(draw.budget) { fate = .waiting }
    guard fate == .waiting else { return decide(waiter, fate, batch, &settlement) }
    settlement.blocked.insert(draw.budget)
    settlement.waiting.append(waiter)
    settlement.budgets.move(draw.budget, waiting: waiter.price)
  }

  /// What a budget does for a price now.
  private func fate(of price: Int128, isLate: Bool, at budget: BudgetKey, _ budgets: Budgets) -> ChargeFate? {
    if sabotage == .chargeBeyondBudget { return .charged }
    if isLate { return price <= budgets.least(of: \.spare, budget) ? .charged : .late }
    if price <= budgets.free(budget) { return .charged }
    let mayReturn = price <= budgets.least(of: \.left, budget) && sabotage != .neverWait
    return mayReturn ? .waiting : .unfunded
  }

  private func decide(
    _ waiter: Waiter, _ fate: ChargeFate, _ batch: CommitBatch<BillingService>, _ settlement: inout Settlement
  ) {
    if fate == .charged { settlement.budgets.move(waiter.draw.budget, charged: waiter.price) }
    var charge = waiter.charge
    let terms = charge.event.terms
    let part = RevenueShare(basisPoints: terms.shareBasisPoints)?.split(charge.event.price).developer.value ?? 0
    charge.fate = fate == .unfunded && !bear(part, of: terms, batch, &settlement) ? .unpaid : fate
    let developer = charge.fate == .late || charge.fate == .unpaid ? 0 : part
    let row = row(
      charge, developer: developer, network: fate == .charged ? Int64(waiter.price) - developer : -developer, batch)
    settlement.rows.append(row)
    settlement.drawn.append(row)
  }

  /// Whether the network bears it: so much for an app's day, and no more.
  private func bear(
    _ part: Int64, of terms: ServedTerms, _ batch: CommitBatch<BillingService>, _ settlement: inout Settlement
  ) -> Bool {
    let day = AppDay(
      partition: batch.partition, app: terms.app, day: terms.serveID.timestamp.milliseconds / 86_400_000,
      currency: terms.currency)
    let amount = settlement.borne[day, default: 0] + Int128(part)
    guard amount <= settings.caps.unfundedPerDay.value.part(of: batch.effects.partitionCount) else { return false }
    settlement.borne[day] = amount
    return true
  }

  private func row(
    _ charge: BillingEffects.Charge, developer: Int64, network: Int64, _ batch: CommitBatch<BillingService>
  ) -> ChargeRow {
    var row = ChargeRow(
      partition: batch.partition, batch: batch.number, event: charge.event, fate: charge.fate, developer: developer,
      network: network)
    if sabotage == .roundShareDown, row.fate == .charged {
      let exact = Int128(charge.event.price.value) * Int128(charge.event.terms.shareBasisPoints)
      row.developer = Int64(exact / 10_000)
      row.network = charge.event.price.value - row.developer
    }
    return row
  }

  private func charge(
    _ id: UInt64, _ charge: AllotmentCharge, _ batch: CommitBatch<BillingService>, _ budgets: inout Budgets
  ) throws(Budgets.Broken) {
    guard let row = budgets.allotments[id], row.partition == batch.partition, row.state < 3 else {
      throw Budgets.Broken(detail: "allotment \(id) cannot be charged")
    }
    let (clicks, reserve) = (row.clicksCharged + charge.forClicks, row.clickReserve + charge.reserve)
    guard row.charged + charge.amount <= row.amount, clicks <= reserve, reserve <= row.amount else {
      throw Budgets.Broken(detail: "allotment \(id) is overcharged")
    }
    budgets.allotments[id]?.charged += charge.amount
    budgets.allotments[id]?.clicksCharged = clicks
    budgets.allotments[id]?.clickReserve = reserve
  }

  private func close(
    _ close: BillingEffects.Close, _ batch: CommitBatch<BillingService>, _ budgets: inout Budgets
  ) throws(Budgets.Broken) {
    guard let row = budgets.allotments[close.allotment], row.partition == batch.partition, row.state == 1 else {
      throw Budgets.Broken(detail: "allotment \(close.allotment) is not open")
    }
    let after = min(row.amount, max(close.used.value, row.charged))
    budgets.allotments[close.allotment]?.state = 2
    budgets.allotments[close.allotment]?.amount = after
    budgets.allotments[close.allotment]?.used = close.used.value
    budgets.allotments[close.allotment]?.clickReserve = max(min(close.usedForClicks.value, after), row.clicksCharged)
    let times: Int128 = sabotage == .returnTwice ? 2 : 1
    budgets.move(close.budget, allotted: -Int128(row.amount - after) * times)
  }

  private func end(
    _ end: BillingEffects.End, _ batch: CommitBatch<BillingService>, _ budgets: inout Budgets
  ) throws(Budgets.Broken) {
    guard let row = budgets.allotments[end.allotment], row.partition == batch.partition, row.state < 3 else {
      throw Budgets.Broken(detail: "allotment \(end.allotment) has ended before")
    }
    budgets.allotments[end.allotment]?.state = 3
    budgets.allotments[end.allotment]?.amount = row.charged
    budgets.allotments[end.allotment]?.clickReserve = row.clicksCharged
    budgets.move(end.budget, allotted: -Int128(row.amount), charged: Int128(row.charged))
  }

  private func grant(
    _ ask: BillingEffects.Ask, _ batch: CommitBatch<BillingService>, _ settlement: inout Settlement
  ) {
    let free = settlement.budgets.least(of: \.spare, ask.budget)
    let price = Int128(ask.fullPrice.value)
    let count = Int128(batch.effects.partitionCount)
    let wanted = max(Int128(ask.usedLastMinute.value), price)
    let plenty = min(free / (20 * count), 1_000 * price)
    var granted = min(max(wanted, plenty), free, Int128(Int64.max))
    if sabotage == .grantUnbounded { granted = max(wanted, plenty) }
    let serve =
      wanted * count * 20 < free
      ? settings.quietServeMilliseconds
      : wanted * count <= free ? settings.usualServeMilliseconds : settings.scarceServeMilliseconds
    let until = min(ask.endsAt, batch.committedAt.advanced(byMilliseconds: serve))
    if free < price { settlement.exhausted.append(ask.budget) }
    guard free >= price || sabotage == .grantUnbounded, until > batch.committedAt else { return }
    let isKnown = settlement.budgets.allotments.values.contains {
      $0.partition == batch.partition && $0.budget.campaign == ask.budget.campaign && $0.budget.day == ask.budget.day
        && $0.ordinal == ask.ordinal
    }
    guard !isKnown || sabotage == .grantTwice else { return }
    let sequence = batch.outputs[0].position.nextSequence + Int64(settlement.grants.count)
    let isScarce = free - granted < Int128(ask.clickPrice.value) * Int128(settings.scarceClicks)
    let row = Budgets.Allotment(
      partition: batch.partition, ordinal: ask.ordinal, budget: ask.budget, granted: Int64(granted),
      amount: Int64(granted), clickRates: isScarce ? .full : ask.clickRates,
      campaignFree: Int64(max(0, min(free - granted, Int128(Int64.max)))), serveUntil: until,
      batch: batch.number, grantedAt: batch.committedAt)
    let id = AllotmentID.make(partition: batch.partition, sequence: sequence)
    settlement.budgets.allotments[id] = row
    settlement.budgets.move(ask.budget, allotted: granted)
    settlement.grants.append(Self.message(id, row))
  }
}
