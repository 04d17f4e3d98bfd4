internal import AdCore
internal import Postgres
internal import Runtime

/// Whether a failure without an ad carries its app's key (A1).
struct FindReplayedKey: PostgresStatement {
  static let sql = """
    SELECT EXISTS (SELECT FROM catalog.app_key WHERE key_hash = $1 AND app = $2 AND NOT is_revoked)
    """
  let keyHash: [UInt8]
  let app: AppID

  var parameters: [any PostgresValue] { [keyHash, app] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}
