package import Postgres

/// The versions of the catalogue's records, by which auctions can be held again. They are kept as long as the decisions that
/// name them.
package enum CatalogHistory {
  /// Forgets the versions that were replaced before the oldest day of decisions that is kept.
  ///
  /// - Returns: how many.
  @discardableResult
  package static func forget(_ pool: PostgresPool) throws(PostgresError) -> Int {
    try pool.forgetAll("SELECT catalog.forget_history($1)")
  }
}
