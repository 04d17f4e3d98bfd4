import Migrations
import Postgres
import TestServers

/// Databases with the whole schema, each a copy of one that was migrated once.
enum TestDatabase {
  static func pool(size: Int = 4) async throws -> PostgresPool {
    PostgresPool(try await configuration(), size: size)
  }

  static func configuration() async throws -> PostgresConfiguration {
    let url = try await SharedPostgres.database(copyOf: "migrated") { url in
      let connection = try PostgresConnection(try PostgresConfiguration(url, applicationName: "test"))
      defer { connection.close() }
      _ = try MigrationRunner().up(connection)
    }
    return try PostgresConfiguration(url, applicationName: "test")
  }
}
