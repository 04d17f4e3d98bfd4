package import AdCore
package import Postgres

extension Timestamp {
  package init(_ time: PostgresTimestamp) { self.init(milliseconds: time.microseconds / 1_000) }
  package var postgres: PostgresTimestamp { PostgresTimestamp(microseconds: milliseconds &* 1_000) }
}

extension UUIDv7 {
  package var postgres: PostgresUUID { PostgresUUID(high: high, low: low) }
}

extension PostgresRow {
  /// An id of version 7.
  ///
  /// - Throws: `PostgresError` when the column holds none.
  package func id(_ column: Int) throws(PostgresError) -> UUIDv7 {
    let value: PostgresUUID = try decode(column)
    return try TermsColumns.known(UUIDv7(high: value.high, low: value.low), column)
  }
}
