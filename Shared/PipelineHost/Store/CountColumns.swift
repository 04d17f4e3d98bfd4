package import Postgres

/// The columns of a service's counts: of its table of minutes, where a row is what one kind of event adds to a minute, and of
/// its table of packed minutes, where a row has many of them in arrays.
package struct CountColumns: Sendable {
  package let table: TableColumns
  /// As SQL lists them.
  package let list: String

  /// - Parameters:
  ///   - schema: the service's.
  ///   - kind: the last part of the tables' names: `count`, or `revenue`.
  ///   - columns: after partition and minute, with the types of ``PostgresType``: what is alike in many first, so that
  ///     arrays of them take little room.
  package init(_ schema: String, kind: String = "count", _ columns: KeyValuePairs<String, UInt32>) {
    let names = ["partition", "minute"] + columns.map(\.key)
    table = TableColumns(
      "\(schema).minute_\(kind)", names,
      packed: PackedColumns("\(schema).packed_\(kind)", names, elementTypes: columns.map(\.value)))
    list = names.joined(separator: ", ")
  }
}
