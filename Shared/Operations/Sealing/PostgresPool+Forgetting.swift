internal import Postgres

extension PostgresPool {
  /// The most rows that one transaction takes out.
  private static let forgottenMaximum: Int32 = 10_000

  /// Forgets rows by `sql`, which takes at most how many and says how many went, until none is left.
  ///
  /// - Returns: how many went in all.
  func forgetAll(_ sql: String) throws(PostgresError) -> Int {
    var sum = 0
    var number: Int32
    repeat {
      number = try withConnection { connection throws(PostgresError) in
        try connection.query(sql, [Self.forgottenMaximum]).first?.decode(0) ?? 0
      }
      sum += Int(number)
    } while number > 0
    return sum
  }
}
