internal import Postgres

/// What the database says about its own history, ascending.
struct AppliedMigrations: PostgresStatement {
  /// One applied migration.
  struct Row: Sendable, Hashable {
    let version: Int32
    let name: String
    let checksum: [UInt8]
    let appliedAt: PostgresTimestamp
  }

  static let sql = "SELECT version, name, checksum, applied_at FROM public.schema_migration ORDER BY version"

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Row {
    Row(
      version: try row.decode(0), name: try row.decode(1), checksum: try row.decode(2), appliedAt: try row.decode(3))
  }
}
