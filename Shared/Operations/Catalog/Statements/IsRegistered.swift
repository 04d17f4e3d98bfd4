internal import Postgres

/// Whether the catalogue has a record by this key, such as `app/chess`, whatever its text.
struct IsRegistered: PostgresStatement {
  static let sql = "SELECT EXISTS (SELECT FROM catalog.record WHERE key = $1 AND deleted_at IS NULL)"
  let key: String

  var parameters: [any PostgresValue] { [key] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}

/// Whether this role may look into the catalogue: one for the reporting views alone may not.
struct MayReadCatalog: PostgresStatement {
  static let sql = "SELECT has_schema_privilege('catalog', 'USAGE')"

  var parameters: [any PostgresValue] { [] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}
