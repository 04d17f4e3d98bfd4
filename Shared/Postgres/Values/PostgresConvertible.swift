/// A type that says how PostgreSQL holds it: as a value of another type. So a domain's own types are parameters and
/// fields of rows, and this module knows none of them.
package protocol PostgresConvertible: PostgresElement {
  associatedtype Stored: PostgresElement
  /// What PostgreSQL holds.
  var postgres: Stored { get }
  /// Nil for what no such value is stored as.
  init?(postgres: Stored)
}

extension PostgresConvertible {
  package static var postgresType: UInt32 { Stored.postgresType }
  package static var postgresListType: UInt32 { Stored.postgresListType }

  package func encode(into bytes: inout [UInt8]) -> Bool { postgres.encode(into: &bytes) }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> Self {
    guard let value = Self(postgres: try Stored.decode(field)) else {
      throw .undecodable(column: field.column, "the value is none that this program writes")
    }
    return value
  }
}

extension PostgresConvertible where Self: RawRepresentable, RawValue: PostgresElement {
  package var postgres: RawValue { rawValue }
  package init?(postgres: RawValue) { self.init(rawValue: postgres) }
}

/// 64 bits that name something and are never added up, as a `bigint` of the same bits.
extension UInt64: PostgresConvertible {
  package var postgres: Int64 { Int64(bitPattern: self) }
  package init?(postgres: Int64) { self.init(bitPattern: postgres) }
}

/// As an `integer`: a `smallint` has a sign.
extension UInt16: PostgresConvertible {
  package var postgres: Int32 { Int32(self) }
  package init?(postgres: Int32) { self.init(exactly: postgres) }
}
