package import Postgres

/// The versions of the catalogue's records, by which auctions can be held again. They are kept as long as the decisions that
/// name them.
package enum CatalogHistory {
  /// The most versions that one transaction takes out.
  private static let forgottenMaximum: Int32 = 10_000

  /// Forgets the versions that were replaced before the oldest day of decisions that is kept.
  ///
  /// - Returns: how many.
  @discardableResult
  package static func forget(_ pool: PostgresPool) throws(PostgresError) -> Int {
    var sum = 0
    var number: Int32
    repeat {
      number = try pool.withConnection { connection throws(PostgresError) in
        try connection.query("SELECT catalog.forget_history($1)", [forgottenMaximum]).first?.decode(0) ?? 0
      }
      sum += Int(number)
    } while number > 0
    return sum
  }
}
