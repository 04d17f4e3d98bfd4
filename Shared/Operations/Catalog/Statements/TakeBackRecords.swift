internal import AdCore
internal import JSON
internal import Postgres

/// Writes records as the catalogue's topic has them, above the versions there.
struct TakeBackRecords: PostgresStatement {
  static let sql = """
    INSERT INTO catalog.record AS stored (key, kind, body, version, change_number, deleted_at)
    SELECT told.key, told.kind, coalesce(told.body, '{}'),
      \(RecordVersion.next(after: "told.version")), nextval('catalog.change_number'),
      CASE WHEN told.body IS NULL THEN now() END
    FROM unnest($1::text[], $2::text[], $3::jsonb[], $4::bigint[]) AS told (key, kind, body, version)
    ON CONFLICT (key) DO UPDATE SET body = CASE WHEN excluded.deleted_at IS NULL THEN excluded.body ELSE stored.body END,
      version = greatest(excluded.version, stored.version + 1), change_number = excluded.change_number,
      changed_at = now(), deleted_at = excluded.deleted_at
    RETURNING key, version
    """
  /// Without a record: its deletion.
  let records: [(key: String, kind: CatalogKind, record: CatalogRecord?, version: Int64)]

  var parameters: [any PostgresValue] {
    [
      records.map(\.key), records.map(\.kind.rawValue),
      records.map { $0.record.map { PostgresJSON(CatalogJSON.value(of: $0).compactText) } },
      records.map(\.version),
    ]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> WriteRecords.Written {
    WriteRecords.Written(key: try row.decode(0), version: try row.decode(1))
  }
}
