import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

@Suite("The catalogue's history")
struct CatalogHistoryTests {
  /// Of an ad that changed five times, and of one that did not.
  private static let versions = """
    INSERT INTO catalog.history (key, version, body, is_deleted, changed_at) VALUES
      ('ad/old', 1, '{}', false, '2025-01-01'), ('ad/old', 2, '{}', false, '2025-06-01'),
      ('ad/old', 3, '{}', false, '2030-02-27'), ('ad/old', 4, '{}', false, '2030-03-05 12:00Z'),
      ('ad/old', 5, '{}', true, '2030-03-06 12:00Z'), ('ad/same', 1, '{}', false, '2025-01-01')
    """

  @Test("what was replaced before the oldest day of decisions goes, and nothing that one of them can name")
  func forgetting() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      try days.run(Self.versions)
      #expect(try CatalogHistory.forget(days.pool) == 1)
      #expect(try Self.kept(days) == "ad/old 2, ad/old 3, ad/old 4, ad/old 5, ad/same 1")
      _ = try days.seal()
      #expect(try days.drop() > 0)
      #expect(try CatalogHistory.forget(days.pool) == 1)
      #expect(try Self.kept(days) == "ad/old 3, ad/old 4, ad/old 5, ad/same 1")
      #expect(try CatalogHistory.forget(days.pool) == 0)
      #expect(throws: PostgresError.self) { try days.run("UPDATE catalog.history SET body = '[]'") }
    }
  }

  private static func kept(_ days: SealingTests.Days) throws -> String {
    try days.pool.withConnection { connection throws(PostgresError) in
      try connection.query(
        "SELECT string_agg(key || ' ' || version, ', ' ORDER BY key, version) FROM catalog.history WHERE key LIKE 'ad/%'"
      )[
        0
      ].decode(0, String.self)
    }
  }
}
