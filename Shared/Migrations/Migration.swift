internal import Crypto

/// One numbered step of the tables' history: `Tables/NNNN_name.sql`. Once landed it is never edited; a change is a new
/// step.
package struct Migration: Sendable, Hashable {
  /// From 1; a number may be left out.
  package let version: Int32
  package let name: String
  package let sql: String

  package init(version: Int32, name: String, sql: String) {
    self.version = version
    self.name = name
    self.sql = sql
  }

  /// Reads the version and the name out of a file's name; nil unless it is `NNNN_name.sql`.
  package init?(file: String, sql: String) {
    let parts = file.split(separator: "_", maxSplits: 1)
    guard parts.count == 2, parts[0].count == 4, let version = Int32(parts[0]), version > 0,
      parts[1].hasSuffix(".sql"), parts[1].count > 4
    else { return nil }
    self.init(version: version, name: String(parts[1].dropLast(4)), sql: sql)
  }

  /// SHA-256 of the text.
  package var checksum: [UInt8] { SHA256.hash(sql.utf8) }

  /// All migrations that this program carries, ascending. Throws `.malformed` when a file is named wrongly or a number
  /// is double.
  package static func all() throws(MigrationError) -> [Migration] {
    var migrations: [Migration] = []
    for (file, sql) in embeddedTables {
      guard let migration = Migration(file: file, sql: sql) else {
        throw .malformed("\(file) is not named NNNN_name.sql")
      }
      migrations.append(migration)
    }
    return try checked(migrations)
  }

  /// `migrations`, ascending, if no two have one version.
  static func checked(_ migrations: [Migration]) throws(MigrationError) -> [Migration] {
    let sorted = migrations.sorted { $0.version < $1.version }
    for (before, migration) in zip(sorted, sorted.dropFirst()) where before.version == migration.version {
      throw .malformed("migration \(migration.version) is double: \(before.name) and \(migration.name)")
    }
    return sorted
  }
}
