import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

@Suite("Tables of several days")
struct WideDayTests {
  @Test("each of its days is compared and sealed by itself, by its part of the table's size")
  func days() async throws {
    let pool = try await TestDatabase.pool()
    let found = try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(
          """
          DO $do$ DECLARE part regclass; BEGIN
            FOR part IN SELECT d.part FROM public.day_tables('billing.charge_row') d
            LOOP EXECUTE format('DROP TABLE %s', part); END LOOP;
          END $do$;
          SELECT public.keep_days('billing.charge_row', '2030-01-04', 0, 10, 9, 7);
          INSERT INTO billing.charge_row
          SELECT (left(public.first_uuid_of_day('2030-01-05')::text, 24) || lpad(n::text, 12, '0'))::uuid, 1, now(), 0, 1, 1,
            NULL, 0, 1, 1, 1, 1, 1, 'US', 'home' FROM generate_series(1, 1000) AS n
          """)
        let size: Int64 =
          try connection.query("SELECT pg_relation_size('billing.charge_row_20300104')").first?.decode(0) ?? 0
        return (size, try ServePieces.days(from: 0, of: ["billing.charge_row"], in: connection))
      }
    }
    let first: Int64 = 1_893_715_200_000  // 2030-01-04Z
    #expect(found.1.map(\.from) == (0..<13).map { first + $0 * 86_400_000 }, "until the end of the week after")
    #expect(found.0 > 0 && found.1.prefix(6).allSatisfy { $0.bytes == found.0 / 6 })
    #expect(found.1.dropFirst(6).allSatisfy { $0.bytes == 0 })
  }

  @Test("a day whose rows lie in packs is cut into as many pieces as if they were rows")
  func packs() async throws {
    let pool = try await TestDatabase.pool()
    let found = try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(
          """
          SELECT public.keep_days(t::regclass, '2030-01-04', 0, 0, 9)
          FROM unnest(ARRAY['billing.charge_row', 'billing.charge_pack']) AS t;
          INSERT INTO billing.charge_pack
          SELECT id, id, 1, 0, 1, 1, ARRAY[id], '{now}', '{1}', '{1}', '{1}', '{1}', '{1}', '{US}', '{home}'
          FROM (
            SELECT (left(public.first_uuid_of_day('2030-01-04')::text, 24) || lpad(n::text, 12, '0'))::uuid AS id
            FROM generate_series(1, 1000) AS n
          ) AS ids
          """)
        let size: Int64 =
          try connection.query("SELECT pg_relation_size('billing.charge_pack_20300104')").first?.decode(0) ?? 0
        let tables = ["billing.charge_row", "billing.charge_pack"]
        return (size, try ServePieces.days(from: 1_893_715_200_000, of: tables, in: connection))
      }
    }
    #expect(found.0 > 0 && found.1.map(\.bytes) == [4 * found.0])
  }
}
