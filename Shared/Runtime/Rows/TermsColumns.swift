package import AdCore
package import Postgres

/// The frozen terms of a served ad as columns: the same names, order and types in every table that holds them.
/// `issued_at` is no column: it is the time in the serve id.
package enum TermsColumns {
  package static let names = [
    "serve_id", "partition", "expires_at", "app", "developer", "advertiser", "campaign", "ad", "placement", "country",
    "device", "size", "impression_price", "click_price", "currency", "share_basis_points", "allotment", "budget_day",
    "client_hash", "is_test",
  ]

  /// The names for a SELECT list.
  package static let list = names.joined(separator: ", ")

  /// Reads the terms from a row that has the columns of ``names`` from `first` on.
  ///
  /// - Throws: `PostgresError` when a value is none that we wrote.
  package static func decode(_ row: PostgresRow, from first: Int) throws(PostgresError) -> ServedTerms {
    let serveID: ServeID = try row.decode(first)
    return ServedTerms(
      serveID: serveID, partition: try row.decode(first + 1), issuedAt: serveID.timestamp,
      expiresAt: try row.decode(first + 2), app: try row.decode(first + 3), developer: try row.decode(first + 4),
      advertiser: try row.decode(first + 5), campaign: try row.decode(first + 6), ad: try row.decode(first + 7),
      placement: try row.decode(first + 8), country: try row.decode(first + 9), device: try row.decode(first + 10),
      size: try row.decode(first + 11), impressionPrice: try row.decode(first + 12),
      clickPrice: try row.decode(first + 13), currency: try row.decode(first + 14),
      shareBasisPoints: try row.decode(first + 15), allotment: try row.decode(first + 16),
      budgetDay: try row.decode(first + 17), clientHash: try row.decode(first + 18),
      isTest: try row.decode(first + 19))
  }

  /// The value, or an error that names the column.
  package static func known<Value>(_ value: Value?, _ column: Int) throws(PostgresError) -> Value {
    guard let value else { throw .undecodable(column: column, "the value is none that this program writes") }
    return value
  }
}
