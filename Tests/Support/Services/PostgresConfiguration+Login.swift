@testable package import Postgres

extension PostgresConfiguration {
  /// The same for another login of the server.
  package func login(_ name: String) -> PostgresConfiguration {
    var other = self
    other.keywords["user"] = name
    return other
  }
}
