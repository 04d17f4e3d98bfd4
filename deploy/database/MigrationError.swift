import Postgres

/// Why the schema cannot be brought up to date, or a service cannot start on it.
package enum MigrationError: Error, Sendable, CustomStringConvertible {
  /// The files of this program are wrong.
  case malformed(String)
  /// A migration that the database has was edited afterwards.
  case editedHistory(version: Int32, name: String)
  /// The database was migrated by a newer program.
  case tooNew(applied: Int32, required: Int32)
  /// The database lacks migrations that this program needs.
  case tooOld(applied: Int32, required: Int32)
  /// A migration failed and was rolled back; the ones before it stay applied.
  case failed(version: Int32, name: String, PostgresError)
  /// The database could not be asked.
  case database(PostgresError)

  package var description: String {
    switch self {
    case .malformed(let reason): "the migrations of this program are wrong: \(reason)"
    case .editedHistory(let version, let name):
      "migration \(version) (\(name)) was edited after it had been applied to this database; "
        + "put the file back as it was, and make the change in a new migration"
    case .tooNew(let applied, let required):
      "the database has migration \(applied), this program knows only \(required): start the newer program"
    case .tooOld(let applied, let required):
      "the database has migration \(applied), this program needs \(required): run 'handbill migrate up'"
    case .failed(let version, let name, let error):
      "migration \(version) (\(name)) failed and was rolled back: \(error)"
    case .database(let error): "\(error)"
    }
  }
}
