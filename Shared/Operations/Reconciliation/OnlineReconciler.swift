package import AdCore
package import Postgres
internal import Runtime

/// Compares the accounts again and again, a little at a time (I6, I7): each pass takes one snapshot, and in it the
/// ledger's new journals and some ranges of serves. What is in flight differs in no snapshot: accepted rows count up to
/// the sequence that billing has taken in it. Blocks the caller.
package struct OnlineReconciler: Sendable {
  /// What one pass found.
  package struct Finding: Sendable {
    /// One for each rule.
    package var checks: [ReconciliationCheck]
    /// How far behind each step of the flow is, in milliseconds.
    package var lags: [(step: String, milliseconds: Int64)]
    package var clockErrorMilliseconds: Int64
    /// Everything that arrived before is decided, charged and compared; nil until a sweep has come to its end.
    package var completeUntil: Timestamp?
    /// How long the pass took.
    package var tookMilliseconds: Int64

    package var pass: CircuitBreaker.Pass {
      CircuitBreaker.Pass(
        differences: checks.reduce(0) { $0 + $1.differences },
        lagMilliseconds: lags.map(\.milliseconds).max() ?? 0, clockErrorMilliseconds: clockErrorMilliseconds)
    }
  }

  /// Beyond the last arrival of a serve's events: so long a sweep may take, and deciding lag, before a serve that has
  /// become final is passed over.
  private static let depthReserveMilliseconds: Int64 = 6 * 3_600_000

  private let pool: PostgresPool
  private var sweep = ReconciliationSweep(depthMilliseconds: depth(Windows()))
  private var ledger = LedgerSums()

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// How far back a serve may lie whose last event has just become impossible.
  private static func depth(_ windows: Windows) -> Int64 {
    let life = Timestamp(milliseconds: windows.longestTokenLifeMilliseconds)
    return windows.lastClickArrival(expiresAt: life).milliseconds + depthReserveMilliseconds
  }

  /// Takes one pass. When it throws, the next one compares the same again.
  package mutating func pass(clock: any TimeSource) throws(PostgresError) -> Finding {
    var (sweep, ledger) = (self.sweep, self.ledger)
    let finding = try pool.snapshot { connection throws(PostgresError) in
      try ReconciliationStatement.choosePlans(connection)
      let begin = clock.monotonicMilliseconds
      let vitals = try ReadVitals.read(in: connection)
      let own = clock.now
      let roundTrip = clock.monotonicMilliseconds - begin
      let ahead = try ReadVitals.aheadMilliseconds(in: connection)
      var checks = [try ledger.check(in: connection)]

      let windows = try StoredWindows.read(in: connection)
      sweep.depthMilliseconds = Self.depth(windows.longest)
      // What is sealed was compared, and may be gone.
      let sealed = ServeRange(from: 0, to: try SealedHead.read(in: connection).openFrom.milliseconds)
      let ranges = sweep.ranges(now: own, completeUntil: Self.completeUntil(vitals))
      var found: [ReconciliationSweep.Compared] = []
      for range in ranges {
        var compared: [ReconciliationCheck] = []
        for open in range.subtracting([sealed]) { compared += try compare(open, now: own, windows, in: connection) }
        found.append(
          ReconciliationSweep.Compared(
            range: range, rows: compared.reduce(0) { $0 + $1.compared },
            differences: compared.reduce(0) { $0 + $1.differences }))
        checks += compared
      }
      sweep.note(found)
      return Finding(
        checks: Self.byRule(checks), lags: Self.lags(vitals),
        clockErrorMilliseconds: max(ahead, Self.clockError(vitals, own: own, roundTrip: roundTrip)),
        completeUntil: sweep.completeUntil, tookMilliseconds: clock.monotonicMilliseconds - begin)
    }
    (self.sweep, self.ledger) = (sweep, ledger)
    return finding
  }

  private func compare(
    _ range: ServeRange, now: Timestamp, _ windows: StoredWindows, in connection: PostgresConnection
  ) throws(PostgresError) -> [ReconciliationCheck] {
    var checks: [ReconciliationCheck] = []
    for statement in TrafficChecks.ofServes { checks.append(try statement.check(range, in: connection)) }
    // Of what was served later nothing is final.
    if let late = windows.shortestLateArrivalMilliseconds, range.from < now.milliseconds - late {
      checks.append(try TrafficChecks.finals.check(range, in: connection))
    }
    return checks
  }

  /// One check for each rule, so that a rule that was broken and is not any more says 0.
  private static func byRule(_ checks: [ReconciliationCheck]) -> [ReconciliationCheck] {
    ["I6", "I7a", "I7b", "I7c"].map { rule in
      let same = checks.filter { $0.rule == rule }
      let broken = same.filter { $0.differences > 0 }
      return ReconciliationCheck(
        rule: rule, name: broken.first?.name ?? "all accounts", compared: same.reduce(0) { $0 + $1.compared },
        differences: same.reduce(0) { $0 + $1.differences }, examples: Array(broken.flatMap(\.examples).prefix(5)))
    }
  }

  private static func completeUntil(_ steps: [ReadVitals.Step]) -> Timestamp? {
    steps.allSatisfy(\.hasEveryPartitionTold) ? steps.compactMap(\.least).min() : nil
  }

  private static func lags(_ steps: [ReadVitals.Step]) -> [(step: String, milliseconds: Int64)] {
    steps.map { step in (step.name, step.least.map { max(0, step.now.milliseconds(since: $0)) } ?? 0) }
  }

  /// Between the database's clock and our own, as far as the round trip does not explain it; and how far arrivals, which
  /// are the broker's time or the services', lie ahead of the database's.
  private static func clockError(_ steps: [ReadVitals.Step], own: Timestamp, roundTrip: Int64) -> Int64 {
    let databaseErrors = steps.map { max(0, abs($0.now.milliseconds(since: own)) - roundTrip) }
    let ahead = steps.map { step in step.greatest.map { $0.milliseconds(since: step.now) } ?? 0 }
    return max(0, (databaseErrors + ahead).max() ?? 0)
  }
}
