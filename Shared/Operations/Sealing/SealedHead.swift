internal import AdCore
internal import Postgres
internal import Runtime

/// Up to where everything is sealed: its rows are read no more, and may be gone.
struct SealedHead: Hashable, Sendable {
  /// A beginning of a day; 1970 where nothing is sealed.
  var openFrom: Timestamp
  /// The last budget day that is compared no more.
  var budgetDay: Int32
  /// Allotments that ended before are compared no more.
  var endedBefore: Timestamp

  static func read(in connection: PostgresConnection) throws(PostgresError) -> SealedHead {
    guard
      let row = try connection.query("SELECT open_from, budget_day, ended_before FROM sealed.head").first
    else { throw PostgresError(.undecodable, "sealed.head has no row") }
    return SealedHead(openFrom: try row.decode(0), budgetDay: try row.decode(1), endedBefore: try row.decode(2))
  }

  /// Nil where nothing is sealed.
  var sealedUntil: Timestamp? { openFrom.milliseconds > 0 ? openFrom : nil }

  /// What a statement may ask for.
  enum Border: Sendable {
    /// The first serve id that is open.
    case serve
    /// The first minute that is open.
    case minute
    case budgetDay
    case endedBefore
  }

  func parameter(_ border: Border) -> any PostgresValue {
    switch border {
    case .serve: PostgresUUID(high: UInt64(clamping: openFrom.milliseconds) << 16, low: 0)
    case .minute: openFrom.postgres
    case .budgetDay: budgetDay
    case .endedBefore: endedBefore.postgres
    }
  }
}
