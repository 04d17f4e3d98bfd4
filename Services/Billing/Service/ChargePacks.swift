internal import AdCore
internal import AdEvents
internal import BillingCore
internal import Pipeline
internal import PipelineHost
internal import Postgres

/// What the impressions of a batch cost, as rows of many: what each alone says is a fourth of what a row of its own costs. Found
/// by their serve ids as `20_charges.sql` says.
enum ChargePacks {
  /// Fewer cost as much as rows of their own.
  static let chargesMinimum = 16
  /// Of one row: some three such lie in a page, compressed.
  static let chargesMaximum = 64
  private static let minuteMilliseconds: Int64 = 60_000
  static let columns = TableColumns(
    "billing.charge_pack",
    [
      "serve_id", "last_serve_id", "batch_number", "partition", "kind", "fate", "serve_ids", "event_times", "terms",
      "allotments", "budget_days", "devices", "sizes", "countries", "placements",
    ])

  /// What those of one row have in common.
  private struct Common: Hashable {
    let minute: Int64
    let fate: ChargeFate

    /// Nil for what needs a column that packs do not have, or gets its fate from the database.
    init?(_ charge: BillingEffects.Charge) {
      guard charge.event.kind == .impression, charge.event.idHash == 0, charge.fate != .drawing else { return nil }
      minute = charge.event.terms.serveID.timestamp.milliseconds / minuteMilliseconds
      fate = charge.fate
    }
  }

  /// What of a batch lies in packs, and what in rows of its own; each in its order.
  static func split(
    _ charges: [BillingEffects.Charge]
  ) -> (packs: [ArraySlice<BillingEffects.Charge>], others: [BillingEffects.Charge]) {
    let keys = charges.map(Common.init)
    var groups: [Common: [BillingEffects.Charge]] = [:]
    for (charge, key) in zip(charges, keys) {
      if let key { groups[key, default: []].append(charge) }
    }
    groups = groups.filter { $0.value.count >= chargesMinimum }
    if groups.isEmpty { return ([], charges) }
    let packs = groups.values.flatMap { group in
      // Of about one size each: none is too small to gain anything.
      let count = (group.count + chargesMaximum - 1) / chargesMaximum
      return (0..<count).map { group[(group.count * $0 / count)..<(group.count * ($0 + 1) / count)] }
    }
    let others = zip(charges, keys).filter { $1.flatMap { groups[$0] } == nil }.map(\.0)
    return (packs, others)
  }

  static func rows(
    _ packs: [ArraySlice<BillingEffects.Charge>], of batch: CommitBatch<BillingService>, terms: TermsBook
  ) -> TableRows {
    let rows = TableRows(columns, capacity: packs.reduce(0) { $0 + $1.count } * 112)
    let buffer = rows.buffer
    for pack in packs {
      let ids = pack.map(\.event.terms.serveID)
      guard let first = pack.first, let lowest = ids.min(), let highest = ids.max() else { continue }
      rows.begin()
      buffer.append(lowest)
      buffer.append(highest)
      buffer.append(batch.number)
      buffer.append(batch.partition)
      buffer.append(first.event.kind)
      buffer.append(first.fate)
      buffer.append(list: ids)
      buffer.append(list: pack.map(\.event.eventTime))
      buffer.append(list: pack.map { terms.name(of: $0.event.terms) })
      buffer.append(list: pack.map { $0.payer ?? $0.event.terms.allotment })
      buffer.append(list: pack.map(\.event.terms.budgetDay))
      buffer.append(list: pack.map(\.event.terms.device))
      buffer.append(list: pack.map(\.event.terms.size))
      buffer.append(list: pack.map(\.event.terms.country))
      buffer.append(list: pack.map(\.event.terms.placement))
    }
    return rows
  }
}
