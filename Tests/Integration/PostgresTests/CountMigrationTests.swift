import Postgres
import Testing

@testable import Migrations

@Suite("The migration of counts")
struct CountMigrationTests {
  @Test("what was counted before is there afterwards, in tables of its days, and counted up to the last batch")
  func moved() async throws {
    let connection = try await TestServer.connect()
    let all = try Migration.all()
    _ = try MigrationRunner(all.filter { $0.version < 12 }).up(connection)
    try connection.executeScript(
      """
      INSERT INTO billing.partition (partition, batch_number) VALUES (0, 7), (1, 9);
      INSERT INTO click_tracking.partition (partition, batch_number) VALUES (0, 5);
      INSERT INTO ad_selection.counted VALUES (0, 3, now());
      INSERT INTO billing.minute_revenue VALUES
        (0, '2026-07-01 23:59Z', 1, 1, 'a', 'd', 'v', 'c', 'x', 'p', 'US', 1, 1, 'USD', 2, 20, 12, 8),
        (1, '2026-07-02 00:00Z', 1, 1, 'a', 'd', 'v', 'c', 'x', 'p', 'US', 1, 1, 'USD', 3, 30, 18, 12);
      INSERT INTO ad_selection.minute_count VALUES
        (0, '2026-07-01 10:00Z', 1, 'a', 'p', 'c', 'x', 'US', 1, 1, false, 4, 4, -1);
      CREATE VIEW reporting.old AS SELECT * FROM billing.minute_revenue;
      """)
    _ = try MigrationRunner().up(connection)
    func numbers(_ sql: String) throws -> [Int64] { try connection.query(sql).map { try $0.decode(0) } }
    #expect(try numbers("SELECT events FROM billing.minute_revenue_20260701") == [2])
    #expect(try numbers("SELECT events FROM billing.minute_revenue_20260702") == [3])
    #expect(try numbers("SELECT sum(gross)::bigint FROM billing.all_revenue") == [50])
    let withoutError = "vocabulary.ad_error_name(injected_error) IS NULL"
    #expect(try numbers("SELECT requests FROM ad_selection.minute_count_20260701 WHERE \(withoutError)") == [4])
    #expect(try numbers("SELECT batch_number FROM billing.counted ORDER BY partition") == [7, 9])
    #expect(try numbers("SELECT batch_number FROM click_tracking.counted") == [5])
    #expect(try numbers("SELECT batch_number FROM ad_selection.counted") == [3])
    #expect(try numbers("SELECT sum(requests)::bigint FROM reporting.minute") == [4])
  }

  @Test("days that were counted before they had tables of months are there afterwards, and go by the day")
  func days() async throws {
    let connection = try await TestServer.connect()
    _ = try MigrationRunner(Migration.all().filter { $0.version < 63 }).up(connection)
    try connection.executeScript(
      """
      INSERT INTO billing.day_revenue
      SELECT 0, day, 1, 1, 'a', 'd', 'v', 'c', 'x', 'p', 'US', 1, 1, 'USD', 2, 20, 12, 8
      FROM unnest(ARRAY['2026-07-01Z', '2026-07-31Z', '2026-08-01Z']::timestamptz[]) AS day
      """)
    _ = try MigrationRunner().up(connection)
    func numbers(_ sql: String) throws -> [Int64] { try connection.query(sql).map { try $0.decode(0) } }
    let all = "SELECT sum(gross)::bigint FROM billing.all_revenue"
    #expect(try numbers(all) == [60])
    try connection.executeScript(
      """
      UPDATE sealed.head SET open_from = '2026-09-01Z';
      SELECT public.keep_count_tables('billing.day_revenue', 'month', '2026-08-01Z', '2026-09-01Z');
      INSERT INTO billing.day_revenue SELECT partition, '2026-09-01Z', kind, fate, app, developer, advertiser, campaign, ad,
        placement, country, device, size, currency, events, gross, developer_amount, network_amount
      FROM billing.day_revenue_other LIMIT 1
      """)
    #expect(try numbers("SELECT gross::bigint FROM billing.day_revenue_20260901") == [20])
    let drop = "SELECT public.drop_counts('billing', '2026-08-31Z')::int::bigint"
    #expect(try [1, 1, 0].map { _ in try numbers(drop)[0] } == [1, 1, 0])
    #expect(try numbers(all) == [40])
  }
}
