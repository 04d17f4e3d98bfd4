internal import AdCore
internal import Postgres
internal import Runtime

/// Gives what one partition holds of an app its fates, and says how many events there were.
struct ResolveHeld: PostgresStatement {
  static let sql = "SELECT billing.resolve_held($1, $2, $3, $4, $5, $6, $7)"
  let partition: Int32
  let resolution: HeldTraffic.Resolution
  let most: Int32

  var parameters: [any PostgresValue] {
    func hour(_ moment: Timestamp) -> Int32 { Int32(clamping: moment.milliseconds / 3_600_000) }
    return [
      partition, resolution.app, hour(resolution.hours.lowerBound), hour(resolution.hours.upperBound),
      resolution.isReleased, resolution.reason, most,
    ]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int64 { try row.decode(0) }
}
