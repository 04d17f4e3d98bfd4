internal import AdCore
internal import Postgres

/// Whether the catalogue has an app by this id, as any text.
struct IsAppRegistered: PostgresStatement {
  static let sql = "SELECT EXISTS (SELECT FROM catalog.record WHERE key = 'app/' || $1 AND deleted_at IS NULL)"
  let app: String

  var parameters: [any PostgresValue] { [app] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}
