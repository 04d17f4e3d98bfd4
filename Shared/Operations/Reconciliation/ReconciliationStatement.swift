internal import AdCore
internal import Postgres

/// A comparison as SQL: its answer is one row of how many rows were compared, how many differ, and examples.
struct ReconciliationStatement: Sendable {
  let rule: String
  let name: String
  let sql: String
  /// Its parameters, $1 and on, where it reads what is open and adds the sums of what is sealed.
  let borders: [SealedHead.Border]

  init(rule: String, name: String, borders: [SealedHead.Border] = [], sql: String) {
    self.rule = rule
    self.name = name
    self.sql = sql
    self.borders = borders
  }

  /// For the transaction that compares. Tables that have just grown have no statistics yet: the planner takes a range of
  /// them for a few rows and would look at every pair (seen: over 30 s for 9,300 rows), or sort them all by the few
  /// partitions. And compiling takes longer than running. With workers one comparison would take several processors
  /// from those who serve.
  static func choosePlans(_ connection: PostgresConnection) throws(PostgresError) {
    _ = try connection.query(
      """
      SELECT set_config('enable_nestloop', 'off', true), set_config('enable_mergejoin', 'off', true),
        set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)
      """)
  }

  /// - Parameter head: read in the same snapshot.
  func check(_ head: SealedHead, in connection: PostgresConnection) throws(PostgresError) -> ReconciliationCheck {
    try check(borders.map(head.parameter), in: connection)
  }

  /// Of a range of serves: $1 and $2.
  func check(_ range: ServeRange, in connection: PostgresConnection) throws(PostgresError) -> ReconciliationCheck {
    try check(range.parameters, in: connection)
  }

  private func check(
    _ parameters: [any PostgresValue], in connection: PostgresConnection
  ) throws(PostgresError) -> ReconciliationCheck {
    guard let row = try connection.query(sql, parameters).first else {
      throw PostgresError(.undecodable, "a comparison has no answer")
    }
    return try check(row)
  }

  fileprivate func check(_ row: PostgresRow, firstColumn: Int = 0) throws(PostgresError) -> ReconciliationCheck {
    let examples: [String]? = try row.decode(firstColumn + 2)
    return ReconciliationCheck(
      rule: rule, name: name, compared: try row.decode(firstColumn), differences: try row.decode(firstColumn + 1),
      examples: examples ?? [])
  }
}

/// Comparisons that read the same, which is read once for all of them: one statement, and so one snapshot.
struct ReconciliationGroup: Sendable {
  /// Parts of a WITH that its statements name.
  let shared: String
  /// Parameters of all of it, $1 and on.
  let borders: [SealedHead.Border]
  let statements: [ReconciliationStatement]

  var sql: String {
    let checks = statements.enumerated().map { index, statement in
      "SELECT \(index), checked.* FROM (\(statement.sql)) AS checked (compared, differences, examples)"
    }
    return "WITH \(shared)\n\(checks.joined(separator: "\nUNION ALL\n"))\nORDER BY 1"
  }

  /// - Parameter head: read in the same snapshot.
  func checks(_ head: SealedHead, in connection: PostgresConnection) throws(PostgresError) -> [ReconciliationCheck] {
    let rows = try connection.query(sql, borders.map(head.parameter))
    guard rows.count == statements.count else {
      throw PostgresError(.undecodable, "\(rows.count) comparisons have an answer, and not \(statements.count)")
    }
    var checks: [ReconciliationCheck] = []
    for (statement, row) in zip(statements, rows) { checks.append(try statement.check(row, firstColumn: 1)) }
    return checks
  }
}

/// Rows that are numbered by partition and batch, read from behind the last sealed batch on, by their key.
enum UnsealedBatches {
  /// A WITH of the partitions that a table has, whose key begins with the partition, and of the sealed batch of each;
  /// further parts follow it.
  static func seals(_ table: String, service: String) -> String {
    """
    WITH RECURSIVE numbers AS (
      (SELECT partition FROM \(table) ORDER BY partition LIMIT 1)
      UNION ALL
      SELECT (SELECT t.partition FROM \(table) t WHERE t.partition > n.partition ORDER BY t.partition LIMIT 1)
      FROM numbers n WHERE n.partition IS NOT NULL
    ), seals AS MATERIALIZED (
      SELECT n.partition, coalesce(s.batch_number, -1) AS sealed FROM numbers n
      LEFT JOIN sealed.batch s ON s.service = '\(service)' AND s.partition = n.partition WHERE n.partition IS NOT NULL
    )
    """
  }

  /// The rows, for a FROM behind ``seals(_:service:)``. A subquery that stays one: each partition's rows are found by the
  /// key, and not by reading all.
  static func rows(_ table: String, as name: String) -> String {
    """
    seals CROSS JOIN LATERAL (
      SELECT * FROM \(table) r WHERE r.partition = seals.partition AND r.batch_number > seals.sealed OFFSET 0
    ) AS \(name)
    """
  }
}
