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
      drawing.buffer.append(int32: Int32(index + 1))
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
    buffer.append(uuidHigh: event.terms.serveID.high, low: event.terms.serveID.low)
    buffer.append(int16: event.kind.rawValue)
    buffer.append(int64: Int64(bitPattern: event.idHash))
    buffer.append(int32: batch.partition)
    buffer.append(int64: batch.number)
    buffer.append(int64: charge.sequence)
    buffer.append(timestampMicroseconds: event.eventTime.milliseconds &* 1_000)
    buffer.append(timestampMicroseconds: event.arrival.milliseconds &* 1_000)
    buffer.append(int16: charge.fate.number)
    buffer.append(int64: event.price.value)
    // The parts of one price add up to it.
    buffer.append(int64: developer + network)
    buffer.append(int64: developer)
    buffer.append(int64: network)
  }

  private static func append(_ terms: ServedTerms, payer: UInt64?, to buffer: CopyBuffer) {
    buffer.append(int64: Int64(bitPattern: payer ?? terms.allotment))
    buffer.append(int32: terms.budgetDay)
    buffer.append(int32: Int32(terms.shareBasisPoints))
    buffer.append(text: terms.app.text)
    buffer.append(text: terms.developer.text)
    buffer.append(text: terms.advertiser.text)
    buffer.append(text: terms.campaign.text)
    buffer.append(text: terms.ad.text)
    buffer.append(text: terms.placement.text)
    buffer.append(text: terms.country.description)
    buffer.append(int16: Int16(terms.device.rawValue))
    buffer.append(int16: Int16(terms.size.rawValue))
    buffer.append(text: terms.currency.text)
  }
}
