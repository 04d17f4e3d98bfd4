/// One SQL statement: a type of its own, in a file of its own.
package protocol PostgresStatement: Sendable {
  /// What one row of the answer is read as; `Void` for statements without rows.
  associatedtype Row = Void
  /// The text, with `$1`, `$2`, … for the parameters. It never holds a value.
  static var sql: String { get }
  /// Whether a connection prepares it, at its first use; true if absent. What looks into tables cut by day is not prepared: its
  /// plan spares the other days by the parameters, and at the sixth use of a prepared one the server would try a plan for all
  /// days, and lock them.
  static var isPrepared: Bool { get }
  /// The values of `$1`, `$2`, …, always of the same types in the same order.
  var parameters: [any PostgresValue] { get }
  /// Reads one row.
  static func decode(_ row: PostgresRow) throws(PostgresError) -> Row
}

extension PostgresStatement where Row == Void {
  package static func decode(_ row: PostgresRow) throws(PostgresError) {}
}

extension PostgresStatement {
  package static var isPrepared: Bool { true }
  package var parameters: [any PostgresValue] { [] }
}
