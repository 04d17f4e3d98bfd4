internal import AdCore
internal import AdEvents
internal import BillingCore
internal import Pipeline
internal import PipelineHost
internal import Postgres

/// What the impressions of a batch cost, as rows of many. Found by their serve ids as `20_charges.sql` says.
enum ChargePacks {
  /// So many lie in one row. A charge takes 32 bytes of disk among 64, and 91 among 16; a row of its own with its key 167.
  private static let sizes = 16...64
  private static let minuteMilliseconds: Int64 = 60_000
  private static let columns = TableColumns(
    "billing.charge_pack",
    [
      "serve_id", "last_serve_id", "batch_number", "partition", "kind", "fate", "serve_ids", "event_times", "terms",
      "allotments", "budget_days", "devices", "sizes", "countries", "placements",
    ])

  /// What those of one row have in common.
  private struct Common: Hashable {
    let minute: Int64
    let fate: ChargeFate

    init(_ charge: BillingEffects.Charge) {
      minute = charge.event.terms.serveID.timestamp.milliseconds / minuteMilliseconds
      fate = charge.fate
    }
  }

  /// What of a batch lies in packs: impressions, but for those whose fate the database decides.
  static func split(
    _ charges: [BillingEffects.Charge]
  ) -> (packs: [ArraySlice<BillingEffects.Charge>], others: [BillingEffects.Charge]) {
    RowPacks.split(
      charges, sizes: sizes, as: { $0.event.kind == .impression && $0.fate != .drawing ? $0 : nil }, by: Common.init)
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
