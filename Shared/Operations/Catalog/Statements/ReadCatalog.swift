package import AdCore
package import JSON
internal import Postgres
internal import Runtime

/// One row of the catalogue.
package struct CatalogRow: Sendable, Hashable {
  package var key: String
  package var kind: CatalogKind
  /// As a catalogue file writes it; of a deleted record its last form.
  package var body: JSONValue
  package var version: Int64
  package var changeNumber: Int64
  package var changedAt: Timestamp
  package var deletedAt: Timestamp?

  /// The record; nil when it is deleted, or written by a newer program.
  package var record: CatalogRecord? {
    deletedAt == nil ? CatalogJSON.record(stored: body, kind: kind) : nil
  }

  /// What a deleted record was last.
  var deletedRecord: CatalogRecord? { deletedAt == nil ? nil : CatalogJSON.record(stored: body, kind: kind) }
}

extension CatalogKind: PostgresConvertible {}

extension CatalogRow {
  static let columns = "key, kind, body, version, change_number, changed_at, deleted_at"

  /// From a row that begins with ``columns``.
  fileprivate init(_ row: PostgresRow) throws(PostgresError) {
    let body: PostgresJSON = try row.decode(2)
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue.parse(body.text.utf8).inOrderOfNames } catch {
      throw .undecodable(column: 2, error.description)
    }
    self.init(
      key: try row.decode(0), kind: try row.decode(1), body: value, version: try row.decode(3),
      changeNumber: try row.decode(4), changedAt: try row.decode(5), deletedAt: try row.decode(6))
  }
}

/// Rows changed after a number, in the order of the changes; with 0 all, deleted ones included. The one that was changed last
/// is always among them: where it is of before that number, the table has gone back, as by a restored backup.
struct ReadCatalog: PostgresStatement {
  static let sql = """
    SELECT \(CatalogRow.columns) FROM catalog.record
    WHERE change_number >= least($1 + 1, (SELECT max(change_number) FROM catalog.record)) ORDER BY change_number
    """
  let after: Int64

  var parameters: [any PostgresValue] { [after] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> CatalogRow {
    try CatalogRow(row)
  }
}

/// Records that are not deleted, of one kind or of all, behind a key and in the order of the keys; and of how many: counted
/// apart, for a window over them would carry every record's body to give a page of them.
struct ReadCatalogPage: PostgresStatement {
  static let sql = """
    SELECT \(CatalogRow.columns), (SELECT count(*) FROM catalog.record WHERE \(condition)) FROM catalog.record
    WHERE \(condition) ORDER BY key LIMIT $3
    """
  private static let condition = "deleted_at IS NULL AND ($1::text IS NULL OR kind = $1) AND key > $2"
  let kind: CatalogKind?
  let after: String
  let rowsMaximum: Int

  var parameters: [any PostgresValue] { [kind?.rawValue, after, Int64(rowsMaximum)] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (row: CatalogRow, total: Int64) {
    (try CatalogRow(row), try row.decode(7))
  }
}
