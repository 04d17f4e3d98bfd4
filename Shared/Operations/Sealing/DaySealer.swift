package import AdCore
package import Postgres
internal import Runtime

/// Seals days: compares one once more when nothing of it can change, and keeps what it came to, so that its rows may go.
/// A day that differs is not sealed, and so its rows stay. Blocks the caller.
package struct DaySealer: Sendable {
  /// What became of the oldest open day.
  package enum Result: Sendable {
    /// All days before are sealed; so many further ones could be by now.
    case sealed(until: Timestamp, due: Int64)
    /// There is no further day whose last event has arrived.
    case nothingDue(sealedUntil: Timestamp?)
    /// Its last event should have arrived, but something of it is still to come. So many days could be sealed by now.
    case notYet(day: Timestamp, due: Int64, obstacles: [String])
    /// Something of it differs, or sums of which it is a part.
    case differs(day: Timestamp, due: Int64, [ReconciliationCheck])
    /// Another process is at it.
    case busy
  }

  private static let dayMilliseconds: Int64 = 86_400_000
  /// How long a sum may take. Where no console ran for a while there are many open days: sums of them that come to no end
  /// in time never would again.
  private static let sumMilliseconds = 43_200_000

  private let pool: PostgresPool
  private let pace: ComparisonPace

  /// - Parameter pool: connections that may write the schema `sealed`.
  package init(_ pool: PostgresPool, pace: ComparisonPace = .hurried) {
    self.pool = pool
    self.pace = pace
  }

  /// Seals the oldest open day, if it can be.
  package func sealNext(now: Timestamp) throws(PostgresError) -> Result {
    let (head, first) = try pool.snapshot { connection throws(PostgresError) in
      let head = try SealedHead.read(in: connection)
      return (head, try ServePieces.days(from: head.openFrom.milliseconds, in: connection).first?.from)
    }
    // Before the first day that has tables there is nothing.
    guard let first = head.sealedUntil?.milliseconds ?? first else {
      return .nothingDue(sealedUntil: head.sealedUntil)
    }
    let day = Timestamp(milliseconds: first)
    let until = day.advanced(byMilliseconds: Self.dayMilliseconds)
    let (lastArrival, obstacles) = try pool.snapshot { connection throws(PostgresError) in
      let last = SealReadiness.lastArrival(until, try StoredWindows.read(in: connection))
      guard last <= now else { return (last, [String]()) }
      return (last, try SealReadiness.obstacles(until: until, lastArrival: last, in: connection))
    }
    guard lastArrival <= now else { return .nothingDue(sealedUntil: head.sealedUntil) }
    let due = 1 + now.milliseconds(since: lastArrival) / Self.dayMilliseconds
    guard obstacles.isEmpty else { return .notYet(day: day, due: due, obstacles: obstacles) }

    guard let differing = try compare(ServeRange(from: head.openFrom.milliseconds, to: until.milliseconds))
    else { return .busy }
    guard differing.isEmpty else { return .differs(day: day, due: due, differing) }
    return try pool.withConnection { connection throws(PostgresError) in
      guard try connection.query("SELECT pg_try_advisory_lock(hashtext('sealing'), 0)").first?.decode(0) == true else {
        return .busy
      }
      defer { _ = try? connection.query("SELECT pg_advisory_unlock(hashtext('sealing'), 0)") }
      // Another process may have sealed it while this one compared.
      guard try SealedHead.read(in: connection).openFrom == head.openFrom else { return .busy }
      try write(head, until: until, connection)
      return .sealed(until: until, due: due - 1)
    }
  }

  /// Of the day all serves, and of everything the sums: what differs; nil where the day has been sealed meanwhile.
  private func compare(_ range: ServeRange) throws(PostgresError) -> [ReconciliationCheck]? {
    let reconciler = Reconciler(pool, sumMilliseconds: Self.sumMilliseconds, pace: pace)
    var checks = try reconciler.compareSums()
    let statements = TrafficChecks.ofServes + TrafficChecks.ofServesApart + TrafficChecks.ofSealing
    for piece in try pieces(range) {
      for statement in statements {
        let check = try reconciler.compare(piece) { connection throws(PostgresError) in
          try statement.check(piece, in: connection)
        }
        guard let check else { return nil }
        checks.append(check)
      }
    }
    return checks.filter { $0.differences > 0 }
  }

  private func pieces(_ range: ServeRange) throws(PostgresError) -> [ServeRange] {
    try pool.snapshot { connection throws(PostgresError) in try pieces(range, connection) }
  }

  private func pieces(
    _ range: ServeRange, _ connection: PostgresConnection
  ) throws(PostgresError) -> [ServeRange] {
    try ServePieces.days(from: range.from, in: connection).filter { $0.from < range.to && $0.bytes > 0 }.flatMap {
      ServePieces.pieces(ServePieces.day($0.from), bytes: $0.bytes)
    }
  }

  /// Piece by piece, each in a transaction of its own: what is added up changes no more. The last one is short.
  private func write(
    _ head: SealedHead, until: Timestamp, _ connection: PostgresConnection
  ) throws(PostgresError) {
    try connection.execute(sql: "DELETE FROM sealed.part")
    let range = ServeRange(from: head.openFrom.milliseconds, to: until.milliseconds)
    for piece in try pieces(range, connection) {
      for sql in SealParts.ofServes { try add(sql, piece.parameters, connection) }
    }
    let minutes: [any PostgresValue] = [head.openFrom.postgres, until.postgres]
    for sql in SealParts.ofMinutes { try add(sql, minutes, connection) }
    for sql in SealParts.ofBatches { try add(sql, [until.postgres], connection) }
    try connection.transaction { connection throws(PostgresError) in
      _ = try connection.query("SELECT sealed.seal($1, $2)", minutes)
    }
  }

  private func add(
    _ sql: String, _ parameters: [any PostgresValue], _ connection: PostgresConnection
  ) throws(PostgresError) {
    try pace.step { () throws(PostgresError) in
      try connection.transaction(statementMilliseconds: Self.sumMilliseconds) { connection throws(PostgresError) in
        try ReconciliationStatement.choosePlans(connection)
        _ = try connection.query(sql, parameters)
      }
    }
  }
}
