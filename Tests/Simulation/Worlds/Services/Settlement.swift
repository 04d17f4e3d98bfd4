import AdCore
import BillingCore
import Pipeline

/// What one batch does to budgets, in the order of `billing.settle`: charges, closes, ends, draws, grants.
extension BillingTables {
  struct Settlement {
    var budgets: Budgets
    var rows: [ChargeRow] = []
    var grants: [NumberedMessage] = []
    /// Where an ask found less than one ad's full price.
    var exhausted: [BudgetPlace] = []
  }

  func settled(_ batch: CommitBatch<BillingService>) throws(Budgets.Broken) -> Settlement {
    let effects = batch.effects
    var settlement = Settlement(budgets: budgets)
    let places = Set(
      effects.closes.map(\.place) + effects.ends.map(\.place) + effects.draws.map(\.place) + effects.asks.map(\.place))
    for (id, amount) in effects.allotmentCharges { try charge(id, amount, batch, &settlement.budgets) }
    for place in places { settlement.budgets.openDay(place) }
    for close in effects.closes { try self.close(close, batch, &settlement.budgets) }
    for end in effects.ends { try self.end(end, batch, &settlement.budgets) }
    var fates: [Int: (fate: ChargeFate, draw: BillingEffects.Draw)] = [:]
    for draw in effects.draws {
      let price = Int128(effects.charges[draw.charge].event.price.value)
      let isPaid = price <= settlement.budgets.free(draw.place) || sabotage == .chargeBeyondBudget
      if isPaid { settlement.budgets.move(draw.place, charged: price) }
      fates[draw.charge] = (isPaid ? .charged : draw.isLate ? .late : .unfunded, draw)
    }
    for ask in effects.asks { grant(ask, batch, &settlement) }
    if sabotage == nil || sabotage?.keepsConstraints == true {
      for place in places { try settlement.budgets.check(place) }
    }
    for (index, charge) in effects.charges.enumerated() {
      settlement.rows.append(row(charge, fate: fates[index], batch))
    }
    return settlement
  }

  private func row(
    _ charge: BillingEffects.Charge, fate: (fate: ChargeFate, draw: BillingEffects.Draw)?,
    _ batch: CommitBatch<BillingService>
  ) -> ChargeRow {
    var row = ChargeRow(
      partition: batch.partition, batch: batch.number, sequence: charge.sequence, event: charge.event,
      fate: fate?.fate ?? charge.fate, developer: charge.parts?.developer.value ?? 0,
      network: charge.parts?.network.value ?? 0)
    if let fate {
      let developer = fate.draw.developer.value
      row.developer = fate.fate == .late ? 0 : developer
      row.network = fate.fate == .charged ? charge.event.price.value - developer : -row.developer
    }
    if sabotage == .roundShareDown, row.fate == .charged {
      let exact = Int128(charge.event.price.value) * Int128(charge.event.terms.shareBasisPoints)
      row.developer = Int64(exact / 10_000)
      row.network = charge.event.price.value - row.developer
    }
    return row
  }

  private func charge(
    _ id: UInt64, _ amount: Int64, _ batch: CommitBatch<BillingService>, _ budgets: inout Budgets
  ) throws(Budgets.Broken) {
    guard let row = budgets.allotments[id], row.partition == batch.partition, row.state < 3 else {
      throw Budgets.Broken(detail: "allotment \(id) cannot be charged")
    }
    guard row.charged + amount <= row.amount else { throw Budgets.Broken(detail: "allotment \(id) is overcharged") }
    budgets.allotments[id]?.charged += amount
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
    let times: Int128 = sabotage == .returnTwice ? 2 : 1
    budgets.move(close.place, allotted: -Int128(row.amount - after) * times)
  }

  private func end(
    _ end: BillingEffects.End, _ batch: CommitBatch<BillingService>, _ budgets: inout Budgets
  ) throws(Budgets.Broken) {
    guard let row = budgets.allotments[end.allotment], row.partition == batch.partition, row.state < 3 else {
      throw Budgets.Broken(detail: "allotment \(end.allotment) has ended before")
    }
    budgets.allotments[end.allotment]?.state = 3
    budgets.allotments[end.allotment]?.amount = row.charged
    budgets.move(end.place, allotted: -Int128(row.amount), charged: Int128(row.charged))
  }

  private func grant(
    _ ask: BillingEffects.Ask, _ batch: CommitBatch<BillingService>, _ settlement: inout Settlement
  ) {
    let free = settlement.budgets.free(ask.place)
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
    if free < price { settlement.exhausted.append(ask.place) }
    guard free >= price || sabotage == .grantUnbounded, until > batch.committedAt else { return }
    let isKnown = settlement.budgets.allotments.values.contains {
      $0.partition == batch.partition && $0.place.campaign == ask.place.campaign && $0.place.day == ask.place.day
        && $0.ordinal == ask.ordinal
    }
    guard !isKnown || sabotage == .grantTwice else { return }
    let sequence = batch.outputs[0].position.nextSequence + Int64(settlement.grants.count)
    let row = Budgets.Allotment(
      partition: batch.partition, ordinal: ask.ordinal, place: ask.place, granted: Int64(granted),
      amount: Int64(granted), campaignFree: Int64(max(0, min(free - granted, Int128(Int64.max)))), serveUntil: until,
      batch: batch.number, grantedAt: batch.committedAt)
    let id = AllotmentID.make(partition: batch.partition, sequence: sequence)
    settlement.budgets.allotments[id] = row
    settlement.budgets.move(ask.place, allotted: granted)
    settlement.grants.append(Self.message(id, row))
  }
}
