package import Postgres

/// What a statement did in a database, as EXPLAIN counts it.
package struct QueryPlan {
  package let lines: [String]

  /// Runs the statement, planned for these parameters.
  package init(_ sql: String, _ parameters: [any PostgresValue], _ connection: PostgresConnection) throws {
    let plan = try connection.query("EXPLAIN (ANALYZE, TIMING off) \(sql)", parameters)
    lines = try plan.map { try $0.decode(0, String.self) }
  }

  /// Runs the statement, and takes back what it did.
  package static func ofDryRun(
    _ sql: String, _ parameters: [any PostgresValue], _ connection: PostgresConnection
  ) throws -> QueryPlan {
    try connection.executeScript("BEGIN")
    let plan = try QueryPlan(sql, parameters, connection)
    try connection.executeScript("ROLLBACK")
    return plan
  }

  /// How many days have tables that it was planned for; with 400 days kept, what is planned for all of them takes a tenth of a
  /// second, and locks them.
  package var days: Int {
    let removed = lines.compactMap { $0.firstMatch(of: /Subplans Removed: (\d+)/).flatMap { Int($0.1) } }
    return removed.reduce(0, +) + Set(lines.flatMap { $0.matches(of: /_(20\d{6})(?:_|\b)/).map(\.1) }).count
  }

  /// How many rows the plan's lines of a kind are about: of all partitions and rounds.
  package func rows(_ kind: String) -> Int {
    lines.filter { $0.contains(kind) && !$0.contains("Bitmap Index Scan") }.compactMap { line in
      line.firstMatch(of: /actual rows=(\d+) loops=(\d+)/).flatMap { found in
        Int(found.1).flatMap { rows in Int(found.2).map { rows * $0 } }
      }
    }.reduce(0, +)
  }

  /// The rows that were read and thrown away: of all rounds.
  package var rowsThrownAway: Int {
    var rounds = 1
    var rows = 0
    for line in lines {
      if let found = line.firstMatch(of: /loops=(\d+)/) { rounds = Int(found.1) ?? 1 }
      if let found = line.firstMatch(of: /Rows Removed by Filter: (\d+)/) { rows += rounds * (Int(found.1) ?? 0) }
    }
    return rows
  }
}
