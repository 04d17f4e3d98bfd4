internal import AdCore
internal import Postgres
internal import Runtime

/// Rows of sealed days that are still there, beside what was sealed of them: for whoever asks, since it reads what
/// comparisons otherwise never read again.
struct SealedRows: Sendable {
  /// A table by day, what its rows come to, and the columns of `sealed.day` that say what they came to.
  private struct Subject: Sendable {
    let name: String
    let dayTables: [String]
    /// Those between the serve ids $1 and $2.
    let rows: String
    let sums: String
    let columns: String
  }

  private static let subjects = [
    Subject(
      name: "ad_selection.decision", dayTables: ["ad_selection.decision_row", "ad_selection.decision_pack"],
      rows: "ad_selection.stored_decisions($1, $2)",
      sums: "count(*), count(*) FILTER (WHERE NOT is_test AND reason IN (\(DecisionReason.liveFills.numbers)))",
      columns: "requests, serves"),
    accepted("impression"), accepted("click"),
    Subject(
      name: "billing.charge", dayTables: ["billing.charge_row", "billing.charge_pack"],
      rows: "billing.charges($1, $2)",
      // Without its terms a charge has no amounts: that differs, and is no failure.
      sums: "count(*), coalesce(sum(amount), 0), coalesce(sum(developer_amount), 0), coalesce(sum(network_amount), 0)",
      columns: "charges, gross, developer_amount, network_amount"),
  ]

  private static func accepted(_ name: String) -> Subject {
    Subject(
      name: "\(name)_tracking.\(name)_row", dayTables: ["\(name)_tracking.\(name)_row"],
      rows: "\(name)_tracking.\(name)_row",
      sums: "count(*), sum(sequence), sum((sequence & 2147483647) * (sequence & 2147483647))",
      columns: "\(name)s, \(name)_sequences, \(name)_squares")
  }

  private let pool: PostgresPool

  init(_ pool: PostgresPool) { self.pool = pool }

  /// Day by day and piece by piece, each in a snapshot of its own.
  func check() throws(PostgresError) -> ReconciliationCheck {
    var result = ReconciliationCheck(
      rule: "sealed", name: "rows of sealed days that are kept are those that were sealed", compared: 0, differences: 0)
    for subject in Self.subjects {
      let days = try pool.snapshot { connection throws(PostgresError) in
        let head = try SealedHead.read(in: connection)
        var days = try ServePieces.days(from: 0, of: subject.dayTables, in: connection)
        for table in subject.dayTables {
          let own = Set(try ServePieces.days(from: 0, of: [table], in: connection).map(\.from))
          // A day goes from one table after the other: what is left of it is no whole.
          days = days.filter { own.contains($0.from) }
        }
        return days.filter { $0.from < head.openFrom.milliseconds }
      }
      for day in days { result.add(try check(subject, day: day)) }
    }
    return result
  }

  private func check(_ subject: Subject, day: (from: Int64, bytes: Int64)) throws(PostgresError) -> ReconciliationCheck
  {
    var stored: [Int32: [Int128]] = [:]
    for piece in ServePieces.pieces(ServePieces.day(day.from), bytes: day.bytes) {
      let sql = """
        SELECT partition, \(subject.sums) FROM \(subject.rows) WHERE serve_id >= $1 AND serve_id < $2 GROUP BY partition
        """
      for (partition, sums) in try read(sql, piece.parameters) {
        stored[partition] = stored[partition].map { zip($0, sums).map { $0 + $1 } } ?? sums
      }
    }
    let date = Timestamp(milliseconds: day.from).utcText.prefix(10)
    let sealed = try read(
      "SELECT partition, \(subject.columns) FROM sealed.day WHERE day = $1::text::date", [String(date)])
    var check = ReconciliationCheck(rule: "sealed", name: "", compared: 0, differences: 0)
    for partition in Set(stored.keys).union(sealed.keys).sorted() {
      let found = stored[partition] ?? []
      // A partition of which the day has nothing is sealed with naughts, or not at all.
      let expected = sealed[partition] ?? []
      check.compared += Int64(clamping: max(found.first ?? 0, expected.first ?? 0))
      guard found != expected, (found + expected).contains(where: { $0 != 0 }) else { continue }
      check.differences += 1
      check.examples.append(
        "\(date), partition \(partition): \(subject.columns) of \(subject.name) are \(Self.text(found)), "
          + "and were sealed as \(Self.text(expected))")
    }
    return check
  }

  private static func text(_ sums: [Int128]) -> String {
    sums.isEmpty ? "nothing" : sums.map(\.description).joined(separator: ", ")
  }

  /// Sums by partition.
  private func read(_ sql: String, _ parameters: [any PostgresValue]) throws(PostgresError) -> [Int32: [Int128]] {
    try pool.snapshot { connection throws(PostgresError) in
      var sums: [Int32: [Int128]] = [:]
      for row in try connection.query(sql, parameters) {
        var figures: [Int128] = []
        for column in 1..<row.columnCount { figures.append(try row.decode(column)) }
        sums[try row.decode(0)] = figures
      }
      return sums
    }
  }
}
