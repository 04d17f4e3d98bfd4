import Migrations
package import Postgres
import TestServers

/// Databases with the whole schema and a login for each program, each a copy of one that was migrated once.
package enum TestDatabase {
  /// The schema as the migrations leave it, and no more.
  package static let bare = DatabaseTemplate("bare") { try migrate($0) }
  /// With logins, and views that tests may write through.
  package static let migrated = DatabaseTemplate("migrated", copyOf: bare) { url in
    let connection = try PostgresConnection(PostgresConfiguration(url, applicationName: "prepare"))
    defer { connection.close() }
    try connection.executeScript(WritableViews.sql)
    try DatabaseUser.makeLogins(connection)
  }

  /// Where a new one is.
  package static func url() async throws -> String { try await SharedPostgres.database(copyOf: migrated) }

  /// How to reach a new one.
  package static func configuration() async throws -> PostgresConfiguration {
    try PostgresConfiguration(try await url(), applicationName: "test")
  }

  /// Brings an empty database to the schema.
  package static func migrate(_ url: String) throws {
    let connection = try PostgresConnection(PostgresConfiguration(url, applicationName: "migrate"))
    defer { connection.close() }
    _ = try MigrationRunner().up(connection)
  }
}
