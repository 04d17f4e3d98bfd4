package import AdCore
package import JSON
package import Postgres
internal import Runtime

/// What is held of one app's hour, beyond one cap.
package struct HeldHour: Hashable, Sendable {
  package let app: AppID
  /// Its start, of the serves.
  package let hour: Timestamp
  package let reason: String
  package let kind: String
  package let currency: String
  package let events: Int64
  /// What they would cost.
  package let price: Int128

  package var json: JSONValue {
    [
      "app": .text(app.text), "hour": .text(hour.utcText), "reason": .text(reason), "kind": .text(kind),
      "currency": .text(currency), "events": .integer(events), "price": .text(MoneyText.format(price)),
    ]
  }

  /// For a terminal.
  package static func text(_ hours: [HeldHour]) -> String {
    guard !hours.isEmpty else { return "Nothing is held." }
    var table = TextTable(["app", "hour", "beyond", "kind", "events", "price"], rightAligned: [4, 5])
    for hour in hours {
      table.rows.append([
        hour.app.text, hour.hour.utcText, hour.reason, hour.kind, TextTable.grouped(hour.events),
        "\(hour.currency) \(MoneyText.format(hour.price))",
      ])
    }
    return table.text
  }
}

/// The way out of what billing holds beyond apps' caps (B8), for a person. Blocks the caller.
package struct HeldTraffic: Sendable {
  /// What a person decides.
  package struct Resolution: Sendable {
    package var app: AppID
    /// Hours of the serves, by any moment in the first and in the last.
    package var hours: ClosedRange<Timestamp>
    package var isReleased: Bool
    package var reason: String

    package init(app: AppID, hours: ClosedRange<Timestamp>, isReleased: Bool, reason: String) {
      self.app = app
      self.hours = hours
      self.isReleased = isReleased
      self.reason = reason
    }
  }

  /// How many events get their fates in one transaction, for which their partition is opened again.
  package static let eventsMaximum: Int32 = 5_000

  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// What is held, by app and hour.
  package func list() throws(PostgresError) -> [HeldHour] {
    try pool.snapshot { connection throws(PostgresError) in try connection.run(ReadHeld()) }
  }

  /// Releases or voids what is held. Partition by partition, and no more at once than ``eventsMaximum``: what is done by
  /// then stays so where it ends before its end.
  ///
  /// - Returns: how many events.
  package func resolve(_ resolution: Resolution) throws(PostgresError) -> Int64 {
    try pool.withConnection { connection throws(PostgresError) in
      var total: Int64 = 0
      for partition in try connection.run(ReadHoldingPartitions(app: resolution.app)) {
        var events: Int64
        repeat {
          events = try connection.transaction { connection throws(PostgresError) in
            try connection.execute(sql: "SET LOCAL lock_timeout = '5s'")
            return try connection.run(
              ResolveHeld(partition: partition, resolution: resolution, most: Self.eventsMaximum)
            ).first ?? 0
          }
          total += events
        } while events == Int64(Self.eventsMaximum)
      }
      return total
    }
  }
}
