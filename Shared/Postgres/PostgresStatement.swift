/// One SQL statement: a type of its own, in a file of its own. A connection prepares it at its first use.
package protocol PostgresStatement: Sendable {
  /// What one row of the answer is read as; `Void` for statements without rows.
  associatedtype Row = Void
  /// The text, with `$1`, `$2`, … for the parameters. It never holds a value.
  static var sql: String { get }
  /// The values of `$1`, `$2`, …, always of the same types in the same order.
  var parameters: [any PostgresValue] { get }
  /// Reads one row.
  static func decode(_ row: PostgresRow) throws(PostgresError) -> Row
}

extension PostgresStatement where Row == Void {
  package static func decode(_ row: PostgresRow) throws(PostgresError) {}
}

extension PostgresStatement {
  package var parameters: [any PostgresValue] { [] }
}
