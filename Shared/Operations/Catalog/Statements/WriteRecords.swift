internal import JSON
internal import Postgres

/// The versions of the catalogue's records.
enum RecordVersion {
  /// SQL for the next version of a row: the milliseconds since 1970, and in any case more than `version`. Readers keep the
  /// highest version that they have ever read: a table that was restored from a backup must not speak with lower ones.
  static func next(after version: String) -> String { "greatest(\(version) + 1, \(first))" }
  /// The same of a new row.
  static let first = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
}

/// Writes records whole; each one's version rises under its row's lock, also for a key that had been deleted.
struct WriteRecords: PostgresStatement {
  struct Written {
    let key: String
    let version: Int64
  }

  static let sql = """
    INSERT INTO catalog.record AS stored (key, kind, body, version, change_number)
    SELECT written.key, written.kind, written.body, \(RecordVersion.first), nextval('catalog.change_number')
    FROM unnest($1::text[], $2::text[], $3::jsonb[]) AS written (key, kind, body)
    ON CONFLICT (key) DO UPDATE SET body = excluded.body,
      version = \(RecordVersion.next(after: "stored.version")),
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
