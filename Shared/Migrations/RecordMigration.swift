internal import Postgres

/// Remembers that a migration is applied, in the transaction that applies it.
struct RecordMigration: PostgresStatement {
  static let sql = """
    INSERT INTO public.schema_migration (version, name, checksum, applied_at) VALUES ($1, $2, $3, now())
    """
  let migration: Migration

  var parameters: [any PostgresValue] { [migration.version, migration.name, migration.checksum] }
}
