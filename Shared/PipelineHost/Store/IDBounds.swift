package import AdCore
package import Postgres
internal import Runtime

/// The lowest and highest of some ids: which days' tables are looked into.
package struct IDBounds: Sendable {
  package let lowest: PostgresUUID
  package let highest: PostgresUUID

  package init(_ ids: [UUIDv7]) {
    lowest = ids.min()?.postgres ?? PostgresUUID(high: 0, low: 0)
    highest = ids.max()?.postgres ?? PostgresUUID(high: 0, low: 0)
  }

  /// Everything of the seconds in which they were made.
  package init(secondsOf ids: [UUIDv7]) {
    func second(_ id: UUIDv7?) -> Int64 { (id?.timestamp.milliseconds ?? 0) / 1_000 * 1_000 }
    self.init(
      from: Timestamp(milliseconds: second(ids.min())), to: Timestamp(milliseconds: second(ids.max()) + 999))
  }

  /// Everything that can have been made from `first` to `last`.
  package init(from first: Timestamp, to last: Timestamp) {
    lowest = UUIDv7(timestamp: first, randomHigh: 0, randomLow: 0).postgres
    highest = UUIDv7(timestamp: last, randomHigh: .max, randomLow: .max).postgres
  }
}
