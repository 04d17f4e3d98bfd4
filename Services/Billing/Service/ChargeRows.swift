internal import AdCore
internal import AdEvents
internal import BillingCore
internal import Pipeline
internal import PipelineHost
internal import Postgres

/// Accepted events with their fates, as rows.
enum ChargeRows {
  private static let columns = TableColumns(
    "billing.charge_row",
    [
      "serve_id", "batch_number", "event_time", "id_hash", "terms", "allotment", "partition", "budget_day", "kind",
      "fate",
      "device", "size", "country", "placement",
    ])

  /// The events whose fate is decided. Those that draw on free budget get theirs, and their rows, from ``Settle``: their
  /// terms are named here all the same, so that they are stored before.
  static func rows(
    _ charges: [BillingEffects.Charge], of batch: CommitBatch<BillingService>, terms: TermsBook
  ) -> TableRows {
    let rows = TableRows(columns, capacity: charges.count * 176)
    let buffer = rows.buffer
    for charge in charges {
      let event = charge.event
      let name = terms.name(of: event.terms)
      guard charge.fate != .drawing else { continue }
      rows.begin()
      buffer.append(event.terms.serveID)
      buffer.append(batch.number)
      buffer.append(event.eventTime)
      buffer.append(event.idHash)
      buffer.append(int64: name)
      buffer.append(charge.payer ?? event.terms.allotment)
      buffer.append(batch.partition)
      buffer.append(event.terms.budgetDay)
      buffer.append(event.kind)
      buffer.append(charge.fate)
      buffer.append(event.terms.device)
      buffer.append(event.terms.size)
      buffer.append(event.terms.country)
      buffer.append(event.terms.placement)
    }
    return rows
  }
}
