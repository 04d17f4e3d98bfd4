import Postgres
import TestServices

extension TestDatabase {
  /// A new one behind a pool.
  static func pool(size: Int = 4) async throws -> PostgresPool {
    PostgresPool(try await configuration(), size: size)
  }
}
