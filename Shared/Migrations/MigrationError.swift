package import Postgres

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
  /// The database's functions and views are not this program's; which of them are newer, nobody can tell.
  case otherLogic
  /// A step failed, and with it everything was rolled back.
  case failed(step: String, PostgresError)
  /// The database could not be asked.
  case database(PostgresError)

  /// True where the database may be ahead of this program.
  package var mayBeNewer: Bool {
    switch self {
    case .tooNew, .otherLogic: true
    default: false
    }
  }

  /// Somebody uses what is to be changed: a lock was waited for too long (55P03), or two waited for each other (40P01).
  var isOfBusyTables: Bool {
    guard case .failed(_, let error) = self else { return false }
    return ["55P03", "40P01"].contains(error.sqlState)
  }

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
    case .otherLogic:
      "the database's functions and views are another release's: run 'handbill migrate up' of the release that is to run"
    case .failed(let step, let error):
      "\(step) failed, and all is rolled back: \(error)"
        + (isOfBusyTables ? "; somebody uses what it changes, and pg_stat_activity says whose transaction is old" : "")
    case .database(let error): "\(error)"
    }
  }
}
