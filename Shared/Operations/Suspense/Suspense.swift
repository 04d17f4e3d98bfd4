package import AdCore
package import Postgres

/// The way out of suspense, for a person. Blocks the caller.
package struct Suspense: Sendable {
  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// What is in suspense, oldest first.
  ///
  /// - Parameter withVoided: also what a person voided.
  package func list(withVoided: Bool = false) throws(PostgresError) -> [SuspendedEvent] {
    try pool.snapshot { connection throws(PostgresError) in
      try connection.run(ReadSuspended(withVoided: withVoided))
    }
  }

  /// Has what a serve has in suspense charged, as its trackers accepted it. The partition's owner gives it up and opens it
  /// again.
  ///
  /// - Returns: the new fates; empty where nothing of the serve is in suspense.
  /// - Throws: `PostgresError` where the database refuses it again; then nothing is changed.
  package func retry(_ serve: ServeID) throws(PostgresError) -> [RetriedEvent] {
    try pool.withConnection { connection throws(PostgresError) in
      try connection.transaction { connection throws(PostgresError) in
        try connection.execute(sql: "SET LOCAL lock_timeout = '5s'")
        return try connection.run(RetrySuspended(serve: serve))
      }
    }
  }

  /// Decides that nobody pays what a serve has in suspense, and nobody is paid. The events keep their rows.
  ///
  /// - Returns: how many events.
  package func void(_ serve: ServeID, reason: String) throws(PostgresError) -> Int {
    try pool.withConnection { connection throws(PostgresError) in
      try connection.execute(VoidSuspended(serve: serve, reason: reason))
    }
  }
}
