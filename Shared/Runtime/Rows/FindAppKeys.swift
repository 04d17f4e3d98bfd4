package import AdCore
package import Postgres

/// Whose app keys these are, as the catalogue's tables say: nothing else of the catalogue matters to a tracker, and what
/// carries an app key is rare there, so it is asked instead of followed.
package struct FindAppKeys: PostgresStatement {
  package static let sql =
    "SELECT key_hash, app, build, is_revoked, is_under_17 FROM catalog.app_key WHERE key_hash = ANY ($1)"
  /// SHA-256 of each.
  let hashes: [[UInt8]]

  package init(hashes: [[UInt8]]) { self.hashes = hashes }

  package var parameters: [any PostgresValue] { [hashes] }

  package static func decode(_ row: PostgresRow) throws(PostgresError) -> KnownAppKey {
    let build: String = try row.decode(2)
    guard let kind = BuildKind(name: build) else {
      throw PostgresError(.misuse, "the catalogue has an app key of a build that is called \(build)")
    }
    return KnownAppKey(
      key: AppKey(app: try row.decode(1), build: kind, keyHash: try row.decode(0), isRevoked: try row.decode(3)),
      isUnder17: try row.decode(4))
  }
}
