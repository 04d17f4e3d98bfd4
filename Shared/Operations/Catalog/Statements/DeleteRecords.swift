internal import Postgres

/// Marks records as deleted, at their next version; those that are deleted already stay as they are.
struct DeleteRecords: PostgresStatement {
  static let sql = """
    UPDATE catalog.record SET version = \(RecordVersion.next(after: "version")),
      change_number = nextval('catalog.change_number'), changed_at = now(), deleted_at = now()
    WHERE key = ANY ($1) AND deleted_at IS NULL
    RETURNING key, version
    """
  let keys: [String]

  var parameters: [any PostgresValue] { [keys] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> WriteRecords.Written {
    WriteRecords.Written(key: try row.decode(0), version: try row.decode(1))
  }
}
