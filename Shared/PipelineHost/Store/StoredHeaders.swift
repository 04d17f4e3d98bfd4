package import Postgres
package import Records

// Headers in tables: a column of names, and behind it one of values.

extension PostgresRow {
  /// The headers in `column` and the next one; nil where they are NULL.
  package func headers(_ column: Int) throws(PostgresError) -> [RecordHeader]? {
    guard let names: [[UInt8]] = try decode(column) else { return nil }
    let values: [[UInt8]] = try decode(column + 1)
    return zip(names, values).map { RecordHeader(name: $0, value: $1) }
  }
}

extension [RecordHeader] {
  var names: [[UInt8]] { map(\.name) }
  var values: [[UInt8]] { map { $0.value ?? [] } }
}
