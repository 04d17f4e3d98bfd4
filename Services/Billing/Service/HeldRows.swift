internal import AdCore
internal import AdEvents
internal import BillingCore
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Events that a person is to release or void, as rows.
enum HeldRows {
  private static let columns = TableColumns(
    "billing.held_row",
    [
      "serve_id", "batch_number", "event_time", "id_hash", "terms", "allotment", "partition", "budget_day", "hour",
      "kind",
      "reason", "device", "size", "app", "country", "placement",
    ])

  static func rows(_ batch: CommitBatch<BillingService>, terms: TermsBook) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.held.count * 176)
    let buffer = rows.buffer
    for held in batch.effects.held {
      let event = held.event
      rows.begin()
      buffer.append(event.terms.serveID)
      buffer.append(batch.number)
      buffer.append(event.eventTime)
      buffer.append(event.idHash)
      buffer.append(int64: terms.name(of: event.terms))
      buffer.append(event.terms.allotment)
      buffer.append(batch.partition)
      buffer.append(event.terms.budgetDay)
      buffer.append(Int32(clamping: event.terms.serveID.timestamp.milliseconds / 3_600_000))
      buffer.append(event.kind)
      buffer.append(held.reason)
      buffer.append(event.terms.device)
      buffer.append(event.terms.size)
      buffer.append(event.terms.app)
      buffer.append(event.terms.country)
      buffer.append(event.terms.placement)
    }
    return rows
  }
}
