internal import AdCore
internal import Postgres
internal import Runtime

/// What is held, by app, hour and cap.
struct ReadHeld: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT app, hour, reason, kind, currency, events, price_nanos FROM reporting.held
    ORDER BY hour, app, reason, kind DESC, currency
    """

  static func decode(_ row: PostgresRow) throws(PostgresError) -> HeldHour {
    HeldHour(
      app: try row.decode(0), hour: try row.decode(1), reason: try row.decode(2), kind: try row.decode(3),
      currency: try row.decode(4), events: try row.decode(5), price: try row.decode(6))
  }
}

/// Which partitions hold something of an app.
struct ReadHoldingPartitions: PostgresStatement {
  static let sql = "SELECT DISTINCT partition FROM billing.held_row WHERE app = $1 ORDER BY partition"
  let app: AppID

  var parameters: [any PostgresValue] { [app] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int32 { try row.decode(0) }
}
