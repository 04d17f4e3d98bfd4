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
      ('ad/old', 3, '{}', false, '2030-03-02'), ('ad/old', 4, '{}', false, '2030-03-05 12:00Z'),
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

  /// Of 3,000 records ten versions each, half of them from before the oldest day, where clocks went back now and then; and as
  /// many again that changed lately.
  private static let manyVersions = """
    INSERT INTO catalog.history (key, version, body, is_deleted, changed_at)
    SELECT 'ad/' || record, version, '{}', false,
      '2030-02-23Z'::timestamptz + version * interval '1 day' - (hashint4(record * version) & 3) * interval '20 h'
    FROM generate_series(1, 3000) AS record, generate_series(1, 10) AS version;
    INSERT INTO catalog.history (key, version, body, is_deleted, changed_at)
    SELECT 'app/' || record, version, '{}', false, '2030-03-05Z'::timestamptz + record * interval '1 s'
    FROM generate_series(1, 3000) AS record, generate_series(1, 10) AS version;
    ANALYZE catalog.history;
    """

  /// All versions that were not replaced before the oldest day, in the plainest words.
  private static let plainlyKept = """
    SELECT count(*), coalesce(sum(hashtext(key || version)::bigint), 0)::bigint FROM catalog.history AS h
    WHERE NOT EXISTS (
      SELECT FROM catalog.history AS later WHERE later.key = h.key AND later.version > h.version AND later.changed_at < (
        SELECT min(first) - 1 FROM public.day_tables('ad_selection.decision_row'))::timestamp AT TIME ZONE 'UTC')
    """

  @Test("of many versions exactly those go that were replaced before, and those that were not are not read")
  func many() async throws {
    let days = try await SealingTests.Days()
    try await onOwnThread {
      try days.run(Self.manyVersions)
      func counted(_ sql: String) throws -> [Int64] {
        try days.pool.withConnection { connection throws(PostgresError) in
          let row = try connection.query(sql)[0]
          return [try row.decode(0), try row.decode(1)]
        }
      }
      let all = try days.number("SELECT count(*) FROM catalog.history")
      let kept = try counted(Self.plainlyKept)
      let forgotten = try CatalogHistory.forget(days.pool)
      #expect(forgotten > 10_000 && kept[0] + Int64(forgotten) == all)
      let sums = "SELECT count(*), sum(hashtext(key || version)::bigint)::bigint FROM catalog.history"
      #expect(try counted(sums) == kept)
      let rowsRead = try days.pool.withConnection { connection throws(PostgresError) in
        try connection.transaction { connection throws(PostgresError) in
          let before = try Self.rowsRead(connection)
          _ = try connection.query("SELECT catalog.forget_history(10000)")
          return try Self.rowsRead(connection) - before
        }
      }
      #expect(rowsRead < 10_000, "to find that none is left, of \(kept[0]) rows \(rowsRead) were read")
    }
  }

  /// By this session, since the server last added its numbers up.
  private static func rowsRead(_ connection: PostgresConnection) throws(PostgresError) -> Int64 {
    try connection.query(
      """
      SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_xact_user_tables
      WHERE relname = 'history' AND schemaname = 'catalog'
      """)[0].decode(0)
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
