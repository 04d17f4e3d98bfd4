internal import JSON
internal import Postgres

/// Writes records whole; each one's version rises under its row's lock, also for a key that had been deleted.
struct WriteRecords: PostgresStatement {
  struct Written {
    let key: String
    let version: Int64
  }

  static let sql = """
    INSERT INTO catalog.record AS stored (key, kind, body, version, change_number)
    SELECT written.key, written.kind, written.body, 1, nextval('catalog.change_number')
    FROM unnest($1::text[], $2::text[], $3::jsonb[]) AS written (key, kind, body)
    ON CONFLICT (key) DO UPDATE SET body = excluded.body, version = stored.version + 1,
      change_number = excluded.change_number, changed_at = now(), deleted_at = NULL
    RETURNING key, version
    """
  let records: [(key: String, kind: CatalogKind, body: JSONValue)]

  var parameters: [any PostgresValue] {
    [records.map(\.key), records.map(\.kind.rawValue), records.map { PostgresJSON($0.body.compactText) }]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Written {
    Written(key: try row.decode(0), version: try row.decode(1))
  }
}
