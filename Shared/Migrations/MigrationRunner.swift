package import Postgres

/// Brings a database's schema up to date. Blocks the calling thread.
package struct MigrationRunner {
  /// One migration and whether the database has it.
  package struct Status: Sendable, Hashable {
    package let version: Int32
    package let name: String
    /// Nil while it is not applied.
    package let appliedAt: PostgresTimestamp?
  }

  /// Whoever migrates holds this advisory lock; a number of our own, the letters "handbill".
  private static let lockNumber: Int64 = 0x6861_6E64_6269_6C6C
  /// How long one statement of a migration may run.
  private static let silenceLimitMilliseconds = 3_600_000
  private static let noTable = "42P01"
  private static let history = """
    CREATE TABLE IF NOT EXISTS public.schema_migration (
      version integer PRIMARY KEY CHECK (version > 0),
      name text NOT NULL,
      checksum bytea NOT NULL CHECK (octet_length(checksum) = 32),
      applied_at timestamptz NOT NULL
    );
    CREATE TABLE IF NOT EXISTS public.schema_logic (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      checksum bytea NOT NULL CHECK (octet_length(checksum) = 32),
      made_at timestamptz NOT NULL
    )
    """

  private let migrations: [Migration]
  private let logic: Logic
  /// How long one lock is waited for, while others wait for those that are held: longer than the second
  /// (`deadlock_timeout`) after which PostgreSQL sends an autovacuum away that is in the way.
  private let lockMilliseconds: Int

  /// A runner of the migrations that this program carries.
  package init() throws(MigrationError) {
    try self.init(Migration.all(), logic: .own)
  }

  /// A runner of other migrations, for tests.
  init(
    _ migrations: [Migration], logic: Logic = Logic([]), lockMilliseconds: Int = 2_000
  ) throws(MigrationError) {
    self.migrations = try Migration.checked(migrations)
    self.logic = logic
    self.lockMilliseconds = lockMilliseconds
  }

  /// The version that this program needs.
  package var requiredVersion: Int32 { migrations.last?.version ?? 0 }

  /// Applies what is missing and makes functions and views again, all in one transaction, and returns the versions applied:
  /// the database is as it was or as this program needs it, and nobody meets tables without the functions that belong to
  /// them. Several may call it at once: one works, the others wait for it.
  ///
  /// Where somebody uses for long what is to be changed, everything is rolled back, so that nobody waits any more.
  ///
  /// - Parameters:
  ///   - tries: how often it is begun at most.
  ///   - beforeTry: is called before the second try and each later one, with its number and why the last one ended; it is
  ///     to leave the others some time.
  package func up(
    _ connection: PostgresConnection, tries: Int = 1,
    beforeTry: (_ number: Int, _ busy: MigrationError) -> Void = { _, _ in }
  ) throws(MigrationError) -> [Int32] {
    try database { () throws(PostgresError) in
      // Waiting for another's migration may take long; the lock goes with the session.
      try connection.executeScript(
        "SET statement_timeout = 0; SELECT pg_advisory_lock(\(Self.lockNumber))",
        silenceLimitMilliseconds: Self.silenceLimitMilliseconds)
    }
    let result: Result<[Int32], MigrationError>
    do throws(MigrationError) {
      result = .success(try applyMissing(connection, tries: tries, beforeTry: beforeTry))
    } catch {
      result = .failure(error)
    }
    if connection.isUsable {
      try database { () throws(PostgresError) in
        try connection.executeScript(
          "SELECT pg_advisory_unlock(\(Self.lockNumber)); "
            + "SET statement_timeout = \(connection.configuration.statementTimeoutMilliseconds)")
      }
    }
    return try result.get()
  }

  private func applyMissing(
    _ connection: PostgresConnection, tries: Int, beforeTry: (Int, MigrationError) -> Void
  ) throws(MigrationError) -> [Int32] {
    var number = 1
    while true {
      do throws(MigrationError) {
        return try transaction(connection) { () throws(MigrationError) in try bringUp(connection) }
      } catch {
        guard error.isOfBusyTables, number < tries, connection.isUsable else { throw error }
        number += 1
        beforeTry(number, error)
      }
    }
  }

  private func bringUp(_ connection: PostgresConnection) throws(MigrationError) -> [Int32] {
    try run("the history of migrations", Self.history, connection)
    let missing = migrations.dropFirst(try compared(connection).count)
    for migration in missing {
      let name = "migration \(migration.version) (\(migration.name))"
      try run(name, migration.sql, connection)
      try step(name) { () throws(PostgresError) in
        _ = try connection.execute(RecordMigration(migration: migration))
      }
    }
    for file in logic.files { try run(file.name, file.sql, connection) }
    try step("functions and views") { () throws(PostgresError) in
      _ = try connection.execute(RecordLogic(checksum: logic.checksum))
    }
    return missing.map(\.version)
  }

  private func run(_ name: String, _ sql: String, _ connection: PostgresConnection) throws(MigrationError) {
    // A busy table must not make everybody queue up behind the migration. Said each time: what ran before may have said
    // otherwise for the rest of the transaction.
    let script = "SET LOCAL lock_timeout = \(lockMilliseconds);\n" + sql
    try step(name) { () throws(PostgresError) in
      try connection.executeScript(script, silenceLimitMilliseconds: Self.silenceLimitMilliseconds)
    }
  }

  private func transaction<Value>(
    _ connection: PostgresConnection, _ body: () throws(MigrationError) -> Value
  ) throws(MigrationError) -> Value {
    do throws(MigrationError) {
      try database { () throws(PostgresError) in try connection.begin() }
      let value = try body()
      try database { () throws(PostgresError) in try connection.commit() }
      return value
    } catch {
      // When the rollback fails too, the connection is lost and the server rolls back.
      do throws(PostgresError) { try connection.rollback() } catch { connection.close() }
      throw error
    }
  }

  /// Every migration of this program, and whether the database has it. Throws like `check`, but not for missing ones.
  package func status(_ connection: PostgresConnection) throws(MigrationError) -> [Status] {
    let applied = try compared(connection)
    return migrations.enumerated().map { index, migration in
      Status(
        version: migration.version, name: migration.name,
        appliedAt: index < applied.count ? applied[index].appliedAt : nil)
    }
  }

  /// For services at their start: throws `.tooOld`, `.tooNew`, `.editedHistory` or `.otherLogic` unless the database has
  /// exactly the migrations, functions and views that this program carries.
  package func check(_ connection: PostgresConnection) throws(MigrationError) {
    let applied = try compared(connection)
    guard applied.count == migrations.count else {
      throw .tooOld(applied: applied.last?.version ?? 0, required: requiredVersion)
    }
    var made: [UInt8]?
    try database { () throws(PostgresError) in made = try connection.run(AppliedLogic()).first }
    guard made == logic.checksum else { throw .otherLogic }
  }

  /// What is applied, which is the beginning of what this program carries.
  private func compared(_ connection: PostgresConnection) throws(MigrationError) -> [AppliedMigrations.Row] {
    let applied: [AppliedMigrations.Row]
    do throws(PostgresError) {
      applied = try connection.run(AppliedMigrations())
    } catch {
      guard error.sqlState == Self.noTable else { throw .database(error) }
      return []
    }
    if let last = applied.last, last.version > requiredVersion {
      throw .tooNew(applied: last.version, required: requiredVersion)
    }
    for (migration, row) in zip(migrations, applied)
    where row.version != migration.version || row.checksum != migration.checksum {
      throw .editedHistory(version: row.version, name: row.name)
    }
    return applied
  }

  private func step(_ name: String, _ body: () throws(PostgresError) -> Void) throws(MigrationError) {
    do throws(PostgresError) { try body() } catch { throw .failed(step: name, error) }
  }

  private func database(_ body: () throws(PostgresError) -> Void) throws(MigrationError) {
    do throws(PostgresError) { try body() } catch { throw .database(error) }
  }
}
