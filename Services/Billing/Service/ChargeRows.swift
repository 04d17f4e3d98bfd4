internal import AdCore
internal import AdEvents
internal import BillingCore
internal import Pipeline
internal import Postgres

/// Accepted events with their fates, as rows.
enum ChargeRows {
  private static let names = [
    "serve_id", "kind", "id_hash", "partition", "batch_number", "sequence", "event_time", "arrival", "fate", "price",
    "amount", "developer_amount", "network_amount", "allotment", "budget_day", "share_basis_points", "app",
    "developer", "advertiser", "campaign", "ad", "placement", "country", "device", "size", "currency",
  ]
  private static let charges = TableColumns("billing.charge", names)
  private static let draws = TableColumns("billing.draw", names + ["position"])

  /// The events whose fate is decided, and, for the table where they wait for it, those that draw on free budget.
  static func rows(_ batch: CommitBatch<BillingService>) -> [TableRows] {
    let effects = batch.effects
    let decided = TableRows(charges, capacity: (effects.charges.count - effects.draws.count) * 360)
    for charge in effects.charges where charge.fate != .drawing {
      decided.begin()
      append(
        charge, developer: charge.parts?.developer, network: charge.parts?.network, batch: batch, to: decided.buffer)
      append(charge.event.terms, payer: charge.payer, to: decided.buffer)
    }
    let drawing = TableRows(draws, capacity: effects.draws.count * 360)
    for (index, draw) in effects.draws.enumerated() {
      let charge = effects.charges[draw.charge]
      drawing.begin()
      append(charge, developer: draw.developer, network: nil, batch: batch, to: drawing.buffer)
      append(charge.event.terms, payer: nil, to: drawing.buffer)
      drawing.buffer.append(Int32(index + 1))
    }
    return [decided, drawing]
  }

  private static func append(
    _ charge: BillingEffects.Charge, developer: Nanos?, network: Nanos?, batch: CommitBatch<BillingService>,
    to buffer: CopyBuffer
  ) {
    let event = charge.event
    let developer = developer?.value ?? 0
    let network = network?.value ?? 0
    buffer.append(event.terms.serveID)
    buffer.append(event.kind)
    buffer.append(event.idHash)
    buffer.append(batch.partition)
    buffer.append(batch.number)
    buffer.append(charge.sequence)
    buffer.append(event.eventTime)
    buffer.append(event.arrival)
    buffer.append(charge.fate)
    buffer.append(event.price)
    // The parts of one price add up to it.
    buffer.append(developer + network)
    buffer.append(developer)
    buffer.append(network)
  }

  private static func append(_ terms: ServedTerms, payer: UInt64?, to buffer: CopyBuffer) {
    buffer.append(payer ?? terms.allotment)
    buffer.append(terms.budgetDay)
    buffer.append(terms.shareBasisPoints)
    buffer.append(terms.app)
    buffer.append(terms.developer)
    buffer.append(terms.advertiser)
    buffer.append(terms.campaign)
    buffer.append(terms.ad)
    buffer.append(terms.placement)
    buffer.append(terms.country)
    buffer.append(terms.device)
    buffer.append(terms.size)
    buffer.append(terms.currency)
  }
}
