internal import AdCore
internal import BillingCore
internal import Postgres
internal import Runtime

/// Puts an accepted event aside that could not be charged, with the reason.
struct Suspend: PostgresStatement {
  static let sql = """
    INSERT INTO billing.suspense (partition, batch_number, kind, sequence, serve_id, id_hash, event_time, arrival,
      price, allotment, app, advertiser, campaign, currency, reason)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
    """
  let partition: Int32
  let batchNumber: Int64
  let suspended: BillingEffects.Suspended

  var parameters: [any PostgresValue] {
    let event = suspended.event
    return [
      partition, batchNumber, event.kind, suspended.sequence, event.terms.serveID, event.idHash, event.eventTime,
      event.arrival, event.price, event.terms.allotment, event.terms.app, event.terms.advertiser, event.terms.campaign,
      event.terms.currency, suspended.reason,
    ]
  }
}
