import Postgres
import Testing

@testable import Migrations

@Suite("Keys that name the partition")
struct KeyMigrationTests {
  /// Tables whose rows are of no partition, or of all: what is named by its content, what partitions share, and what people
  /// and programs keep.
  private static let withoutPartition: Set = [
    "ad_selection.terms", "impression_tracking.terms", "click_tracking.terms", "billing.terms", "ad_selection.creative",
    "ad_selection.auction_rules", "ad_selection.member", "impression_tracking.member", "click_tracking.member",
    "billing.member", "catalog.record", "catalog.history", "catalog.under_17_bundle", "console.anomaly", "sealed.head",
    "sealed.part", "sealed.campaign", "sealed.campaign_day", "treasury.account", "treasury.campaign",
    "treasury.campaign_day", "treasury.funding", "vocabulary.word", "public.schema_migration", "public.schema_logic",
    "timeline.timeline", "pipeline.rollup", "ad_selection.rollup_count", "impression_tracking.rollup_count",
    "click_tracking.rollup_count", "billing.rollup_revenue",
  ]

  private func texts(_ sql: String, _ connection: PostgresConnection) throws -> [String] {
    try connection.query(sql).map { try $0.decode(0) }
  }

  @Test("every key of every table of partitions names the partition, and no other table is of one")
  func keys() async throws {
    let connection = try await TestServer.connect()
    _ = try MigrationRunner().up(connection)
    let tables = """
      SELECT c.oid, format('%s.%s', c.relnamespace::regnamespace, c.relname) AS name, (
          SELECT a.attnum FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'partition') AS partition
      FROM pg_class c WHERE c.relkind IN ('r', 'p') AND NOT c.relnamespace::regnamespace::text LIKE ALL ('{pg_%}')
        AND c.relnamespace::regnamespace::text <> 'information_schema'
      """
    let without = try texts(
      "SELECT name FROM (\(tables)) AS t JOIN pg_class c USING (oid) WHERE partition IS NULL AND NOT relispartition",
      connection)
    #expect(Set(without) == Self.withoutPartition)
    let keys =
      "FROM (\(tables)) AS t JOIN pg_index i ON i.indrelid = t.oid AND i.indisunique WHERE partition IS NOT NULL"
    #expect(try texts("SELECT name \(keys)", connection).count > 100, "the tables were not found")
    #expect(try texts("SELECT name \(keys) AND partition <> ALL (i.indkey::int2[])", connection) == [])
    // A table that a crash empties is on no standby.
    #expect(try texts("SELECT relname::text FROM pg_class WHERE relpersistence = 'u'", connection) == [])
  }

  /// As an earlier release left it: rows of a day, gap requests that are numbered over all partitions, of which some are
  /// answered and some are gone, sums of sealed days, and budgets.
  private static let before = """
    CREATE TABLE impression_tracking.impression_row_20260701 PARTITION OF impression_tracking.impression_row
      FOR VALUES FROM ('019f1af9-b400-0000-0000-000000000000') TO ('019f2020-1000-0000-0000-000000000000');
    INSERT INTO impression_tracking.impression_row VALUES
      ('019f1af9-b401-7000-8000-000000000001', 1, 1, now(), now(), 5, 6, 7, 3, 1, 1, 1, false, 'US', 'home');
    INSERT INTO click_tracking.terms VALUES (7, '2026-07-01', 'app', 'dev', 'adv', 'c', 'a', 1, 1, 'USD', 6000, 1, false);
    INSERT INTO click_tracking.parked_row (serve_id, id_hash, partition, batch_number, record_offset, is_accidental,
      event_time, arrival, placement, country, device, size, allotment, budget_day, client_hash, is_test, terms)
    VALUES ('019f1af9-b401-7000-8000-000000000001', 9, 3, 1, 1, false, now(), now(), 'home', 'US', 1, 1, 5, 1, 6, false, 7);
    INSERT INTO billing.partition (partition, backend_pid) VALUES (3, 4711);
    INSERT INTO billing.gap_request (partition, topic, sequence) VALUES (3, 'a', 10), (4, 'a', 11), (3, 'a', 12);
    INSERT INTO impression_tracking.answered_gap_request VALUES ('billing', 3, 'a', 1), ('billing', 5, 'a', 9);
    INSERT INTO sealed.allotment VALUES ((3::bigint << 40) | 17, 100);
    CREATE FUNCTION sealed.digest() RETURNS numeric LANGUAGE sql AS
      $$ SELECT sum(length(r::text)) FROM sealed.allotment r $$;
    UPDATE sealed.head SET open_from = '2026-06-01Z', digest = sealed.digest() + 1000;
    INSERT INTO billing.account (advertiser, currency, requested, funded) VALUES ('adv', 'USD', 5, 5);
    INSERT INTO billing.funding VALUES ('adv', 'USD', '', 1, 5, NULL, 1);
    """

  @Test("what an earlier release stored is there afterwards, under keys that name its partition")
  func moved() async throws {
    let connection = try await TestServer.connect()
    _ = try MigrationRunner(Migration.all().filter { $0.version < 27 }).up(connection)
    try connection.executeScript(Self.before)
    let digests = "SELECT (digest - (SELECT sum(length(r::text)) FROM sealed.allotment r))::bigint FROM sealed.head"
    func numbers(_ sql: String) throws -> [Int64] { try connection.query(sql).map { try $0.decode(0) } }
    #expect(try numbers(digests) == [1000])
    _ = try MigrationRunner(Migration.all().filter { $0.version < 29 }).up(connection)
    #expect(try numbers(digests) == [1000], "what differed before differs still, by as much")

    #expect(try numbers("SELECT partition::bigint FROM impression_tracking.impression_row_20260701") == [3])
    #expect(try numbers("SELECT partition::bigint FROM click_tracking.parked_row") == [3])
    #expect(try numbers("SELECT session::bigint FROM billing.partition") == [4711])
    #expect(try numbers("SELECT partition::bigint FROM sealed.allotment") == [3])
    #expect(try numbers("SELECT requested::bigint FROM treasury.account") == [5])
    #expect(try numbers("SELECT requested::bigint FROM treasury.funding") == [5])
    let refused = #expect(throws: PostgresError.self) { try connection.executeScript("DELETE FROM treasury.funding") }
    #expect(refused?.sqlState == "HB003")

    // Numbers go on in each partition and topic, above all that is answered, and from 1 where there is none.
    #expect(try numbers("SELECT partition::bigint FROM impression_tracking.answered_gap_request") == [3])
    _ = try MigrationRunner().up(connection)
    for partition in [3, 5] {
      _ = try connection.query("SELECT pipeline.request_gap('billing', \(partition), 'a', 20)")
    }
    #expect(try numbers("SELECT number FROM billing.gap_request WHERE partition = 3 ORDER BY number") == [1, 3, 4])
    #expect(try numbers("SELECT number FROM billing.gap_request WHERE partition = 5") == [1])
  }
}
