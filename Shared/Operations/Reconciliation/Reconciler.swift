internal import AdCore
package import Postgres
internal import Runtime

/// Compares all accounts: what is open, and with it the sums of what is sealed. No snapshot of the database is held for
/// longer than one comparison of one piece takes. Blocks the caller.
package struct Reconciler: Sendable {
  private let pool: PostgresPool
  private let sumMilliseconds: Int
  private let pace: ComparisonPace

  /// - Parameter sumMilliseconds: how long a sum of all open rows may take.
  package init(
    _ pool: PostgresPool, sumMilliseconds: Int = Reconciler.sumMilliseconds, pace: ComparisonPace = .hurried
  ) {
    self.pool = pool
    self.sumMilliseconds = sumMilliseconds
    self.pace = pace
  }

  /// - Parameters:
  ///   - tally: what the devices know to have happened, where somebody counted it.
  ///   - withSealedRows: also the rows of sealed days that are still there, however many.
  package func reconcile(
    tally: DeviceAccount? = nil, withSealedRows: Bool = false
  ) throws(PostgresError) -> Reconciliation {
    var checks = try compareSums()
    if withSealedRows { checks += try [SealedRows(pool).check()] + compareSums(PipelineChecks.sealedTerms) }
    let (traffic, counted) = try compareServes()
    checks += traffic
    return try snapshot { connection throws(PostgresError) in
      let head = try SealedHead.read(in: connection)
      var finality = try Finality.sealed(in: connection)
      // What has been sealed since it was counted is among the sealed.
      for (piece, part) in counted where head.openFrom.milliseconds <= piece.from { finality.add(part) }
      if let tally { checks += try tally.checks(in: connection) }
      return Reconciliation(
        checks: checks, notConsumed: try notConsumed(connection),
        parked: try count("SELECT count(*) FROM click_tracking.parked", connection),
        waiting: try count("SELECT count(*) FROM billing.waiting", connection),
        suspense: try count("SELECT count(*) FROM billing.suspense WHERE voided_at IS NULL", connection),
        held: try count("SELECT count(*) FROM billing.held_row", connection),
        lostServes: try LostServes.read(in: connection),
        reserved: try reserved(connection), finality: finality,
        sealedUntil: head.sealedUntil)
    }
  }

  /// A sum is of all open rows, however many, on one processor: for a day of 10 million serves all comparisons together took
  /// 250 s.
  package static let sumMilliseconds = 1_800_000

  /// Whatever is compared by sums, each comparison in a snapshot of its own.
  func compareSums() throws(PostgresError) -> [ReconciliationCheck] {
    try compareSums(PipelineChecks.all + MoneyChecks.all + TrafficChecks.sums + SealChecks.all)
      + compareSums { connection, head throws(PostgresError) in try MoneyChecks.ofCharges.checks(head, in: connection) }
  }

  private func compareSums(_ statements: [ReconciliationStatement]) throws(PostgresError) -> [ReconciliationCheck] {
    var checks: [ReconciliationCheck] = []
    for statement in statements {
      checks.append(
        try compareSums { connection, head throws(PostgresError) in try statement.check(head, in: connection) })
    }
    return checks
  }

  private func compareSums<Result>(
    _ body: (PostgresConnection, SealedHead) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    try snapshot(statementMilliseconds: sumMilliseconds) { connection throws(PostgresError) in
      try ReconciliationStatement.choosePlans(connection)
      return try body(connection, SealedHead.read(in: connection))
    }
  }

  /// A snapshot behind which it rests.
  private func snapshot<Result>(
    statementMilliseconds: Int? = nil, _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    try pace.step { () throws(PostgresError) in
      try pool.snapshot(statementMilliseconds: statementMilliseconds, body)
    }
  }

  /// Whatever is compared serve by serve, piece by piece; with it what of each piece is final.
  private func compareServes() throws(PostgresError) -> ([ReconciliationCheck], [(piece: ServeRange, Finality)]) {
    let statements = TrafficChecks.ofServes + TrafficChecks.ofServesApart
    var checks = statements.map { ReconciliationCheck(rule: $0.rule, name: $0.name, compared: 0, differences: 0) }
    var counted: [(piece: ServeRange, Finality)] = []
    var next: Int64 = 0
    while let pieces = try nextDay(from: next), let last = pieces.last {
      next = last.to
      for piece in pieces {
        for (index, statement) in statements.enumerated() {
          let found = try compare(piece) { connection throws(PostgresError) in
            try statement.check(piece, in: connection)
          }
          if let found { checks[index].add(found) }
        }
        let part = try compare(piece) { connection throws(PostgresError) in try Finality.of(piece, in: connection) }
        if let part { counted.append((piece, part)) }
      }
    }
    return (checks, counted)
  }

  /// The first open day from a moment on that has rows, cut into pieces by what it has when its turn comes; nil where there is
  /// none.
  private func nextDay(from first: Int64) throws(PostgresError) -> [ServeRange]? {
    try snapshot { connection throws(PostgresError) in
      let open = try SealedHead.read(in: connection).openFrom.milliseconds
      return try ServePieces.days(from: max(open, first), in: connection).first { $0.bytes > 0 }.map {
        ServePieces.pieces(ServePieces.day($0.from), bytes: $0.bytes)
      }
    }
  }

  /// In a snapshot in which the piece is open: what has been sealed meanwhile may be gone.
  ///
  /// - Returns: nil where it is sealed.
  func compare<Result>(
    _ piece: ServeRange, _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result? {
    try snapshot { connection throws(PostgresError) in
      guard try SealedHead.read(in: connection).openFrom.milliseconds <= piece.from else { return nil }
      try ReconciliationStatement.choosePlans(connection)
      return try body(connection)
    }
  }

  private func count(_ sql: String, _ connection: PostgresConnection) throws(PostgresError) -> Int64 {
    try connection.query(sql).first?.decode(0) ?? 0
  }

  private func reserved(
    _ connection: PostgresConnection
  ) throws(PostgresError) -> [(currency: String, nanos: Int128)] {
    let sql = """
      SELECT currency, sum(amount - charged) FROM billing.allotment WHERE state < \(AllotmentState.ended.number) GROUP BY currency ORDER BY currency
      """
    var reserved: [(currency: String, nanos: Int128)] = []
    for row in try connection.query(sql) { reserved.append((currency: try row.decode(0), nanos: try row.decode(1))) }
    return reserved
  }

  /// Producer and consumer of each topic with sequences.
  private func notConsumed(_ connection: PostgresConnection) throws(PostgresError) -> [NotConsumed] {
    let edges = [
      ("ads.impressions.accepted", "impression_tracking", "click_tracking"),
      ("ads.impressions.accepted", "impression_tracking", "billing"),
      ("ads.clicks.accepted", "click_tracking", "billing"), ("ads.usage", "ad_selection", "billing"),
      ("ads.budgets", "billing", "ad_selection"),
    ]
    var list: [NotConsumed] = []
    for (topic, producer, consumer) in edges {
      let sql = """
        SELECT coalesce(sum(o.next_sequence - 1 - coalesce(i.consumed_sequence, 0)), 0)::bigint FROM \(producer).output o
        LEFT JOIN \(consumer).input i ON i.partition = o.partition AND i.topic = o.topic WHERE o.topic = $1
        """
      let sequences: Int64 = try connection.query(sql, [topic]).first?.decode(0) ?? 0
      list.append(NotConsumed(topic: topic, consumer: consumer, sequences: sequences))
    }
    return list
  }
}
