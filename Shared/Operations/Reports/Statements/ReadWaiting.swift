internal import AdCore
internal import Postgres

/// What waits for budget in the whole network (B4).
struct ReadWaiting: PostgresStatement {
  static let sql = "SELECT kind, currency, events, price_nanos FROM reporting.waiting ORDER BY currency, kind DESC"

  static func decode(_ row: PostgresRow) throws(PostgresError) -> WaitingEvents {
    WaitingEvents(
      kind: try row.decode(0), currency: try row.decode(1), events: try row.decode(2), price: try row.decode(3))
  }
}
