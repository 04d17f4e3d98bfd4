import Postgres
import TestServers

/// Databases of the server that all tests of this process share.
enum TestServer {
  /// A new, empty database.
  static func database() async throws -> PostgresConfiguration {
    try PostgresConfiguration(try await SharedPostgres.database(), applicationName: "test")
  }

  /// A connection to a new, empty database.
  static func connect() async throws -> PostgresConnection {
    try PostgresConnection(try await database())
  }
}
