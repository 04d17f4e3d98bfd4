import AdCore
import AdEvents
import BillingCore
import Pipeline
import Postgres

/// Accepted events with their fates, as rows.
enum ChargeRows {
  static let columns = [
    "serve_id", "kind", "id_hash", "partition", "batch_number", "sequence", "event_time", "arrival", "fate", "price",
    "amount", "developer_amount", "network_amount", "allotment", "budget_day", "share_basis_points", "app",
    "developer", "advertiser", "campaign", "ad", "placement", "country", "device", "size", "currency",
  ]

  /// Copies the events whose fate is decided, and those that draw on free budget into the table where they wait for it.
  static func copy(_ batch: CommitBatch<BillingService>, into connection: PostgresConnection) throws(PostgresError) {
    let effects = batch.effects
    let decided = CopyBuffer(capacity: (effects.charges.count - effects.draws.count) * 360)
    for charge in effects.charges where charge.fate != .drawing {
      decided.beginRow(columnCount: Int16(columns.count))
      append(charge, developer: charge.parts?.developer, network: charge.parts?.network, batch: batch, to: decided)
      append(charge.event.terms, to: decided)
    }
    if !decided.isEmpty { _ = try connection.copy(into: "billing.charge", columns: columns, decided) }
    let drawing = CopyBuffer(capacity: effects.draws.count * 360)
    for (index, draw) in effects.draws.enumerated() {
      let charge = effects.charges[draw.charge]
      drawing.beginRow(columnCount: Int16(columns.count + 1))
      append(charge, developer: draw.developer, network: nil, batch: batch, to: drawing)
      append(charge.event.terms, to: drawing)
      drawing.append(int32: Int32(index + 1))
    }
    if !drawing.isEmpty { _ = try connection.copy(into: "billing.draw", columns: columns + ["position"], drawing) }
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

  private static func append(_ terms: ServedTerms, to buffer: CopyBuffer) {
    buffer.append(int64: Int64(bitPattern: terms.allotment))
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
