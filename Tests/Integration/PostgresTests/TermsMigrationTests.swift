import Postgres
import Testing

@testable import Migrations

@Suite("The migration of terms")
struct TermsMigrationTests {
  /// All rows that a table or a view has, as text.
  private func rows(_ table: String, _ connection: PostgresConnection) throws -> [String] {
    // Later steps gave one column its name of today, and added two.
    let row = "replace((to_jsonb(r) - 'edge_flags' - 'edge_network')::text, '\"batch_place\"', '\"batch_index\"')"
    return try connection.query("SELECT \(row) FROM \(table) AS r ORDER BY 1").map { try $0.decode(0) }
  }

  @Test("impressions and deliveries that are stored say the same afterwards, in tables of the same days")
  func impressions() async throws {
    let connection = try await TestServer.connect()
    let all = try Migration.all()
    _ = try MigrationRunner(Array(all.prefix { $0.name != "impression_terms" })).up(connection)
    try connection.executeScript(
      """
      CREATE TABLE impression_tracking.impression_20260701 PARTITION OF impression_tracking.impression
        FOR VALUES FROM ('019f1af9-b400-0000-0000-000000000000') TO ('019f2020-1000-0000-0000-000000000000');
      CREATE TABLE impression_tracking.delivery_20260701 PARTITION OF impression_tracking.delivery
        FOR VALUES FROM ('019f1af9-b400-0000-0000-000000000000') TO ('019f2020-1000-0000-0000-000000000000');
      INSERT INTO impression_tracking.impression (serve_id, partition, batch_number, sequence, event_time, arrival,
        expires_at, app, developer, advertiser, campaign, ad, placement, country, device, size, impression_price,
        click_price, currency, share_basis_points, allotment, budget_day, client_hash, is_test)
      SELECT (lpad(to_hex(1782864000000 + n), 12, '0') || '70008000000000000000')::uuid, 3, n, n, '2026-07-01Z', '2026-07-02Z',
        '2026-07-01 00:15Z'::timestamptz + n * interval '1 millisecond', 'a', 'b',
        'c', 'd' || n % 2, 'e', 'f', 'US', 1, 2, 7, 8, 'USD', 6000, n, 5, n, false
      FROM generate_series(1, 5) AS n;
      INSERT INTO impression_tracking.delivery
      SELECT serve_id, kind, NULL, partition, batch_number, event_time, app, campaign, ad, placement, country, size, device,
        is_test
      FROM impression_tracking.impression, unnest(ARRAY[1, 3]) AS kind;
      """)
    let before = try [
      rows("impression_tracking.impression", connection), rows("impression_tracking.delivery", connection),
    ]
    _ = try MigrationRunner().up(connection)
    let after = try [
      rows("impression_tracking.impression", connection), rows("impression_tracking.delivery", connection),
    ]
    #expect(after == before && before.map(\.count) == [5, 10])
    #expect(try rows("impression_tracking.impression_row_20260701", connection).count == 5)
    #expect(try rows("impression_tracking.terms", connection).count == 4)
    let wrong = try connection.query(
      """
      SELECT FROM impression_tracking.terms WHERE name <> public.terms_name(app, developer, advertiser, campaign, ad,
        impression_price, click_price, currency, share_basis_points, life_ms, is_test)
      """)
    #expect(wrong.isEmpty)
  }

  @Test("clicks and parked clicks that are stored say the same afterwards")
  func clicks() async throws {
    let connection = try await TestServer.connect()
    let all = try Migration.all()
    _ = try MigrationRunner(Array(all.prefix { $0.name != "click_terms" })).up(connection)
    let terms = "'a', 'b', 'c', 'd' || n % 2, 'e', 'f', 'US', 1, 2, 7, 8, 'USD', 6000, n, 5, n, n = 3"
    try connection.executeScript(
      """
      CREATE TABLE click_tracking.click_20260701 PARTITION OF click_tracking.click
        FOR VALUES FROM ('019f1af9-b400-0000-0000-000000000000') TO ('019f2020-1000-0000-0000-000000000000');
      CREATE VIEW served AS SELECT n, '2026-07-01 00:15Z'::timestamptz + n * interval '1 millisecond' AS expires_at,
        (lpad(to_hex(1782864000000 + n), 12, '0') || '70008000000000000000')::uuid AS serve_id
      FROM generate_series(1, 5) AS n;
      INSERT INTO click_tracking.click
      SELECT serve_id, n, 3, n, n, 1, false, '2026-07-01Z', '2026-07-02Z', expires_at, \(terms), true, false FROM served;
      INSERT INTO click_tracking.parked
      SELECT serve_id, n, 3, n, n, false, '2026-07-01Z', '2026-07-02Z', expires_at, \(terms) FROM served;
      """)
    let views = ["click_tracking.click", "click_tracking.parked"]
    let before = try views.map { try rows($0, connection) }
    _ = try MigrationRunner().up(connection)
    #expect(try views.map { try rows($0, connection) } == before && before.map(\.count) == [5, 5])
    #expect(try rows("click_tracking.click_row_20260701", connection).count == 5)
    #expect(try rows("click_tracking.terms", connection).count == 3)
    let days = try connection.query("SELECT DISTINCT last_day::text FROM click_tracking.terms")
    #expect(try days.map { try $0.decode(0, String.self) } == ["2026-07-01"])
  }

  @Test("decisions that are stored, with an ad and without one, say the same afterwards")
  func decisions() async throws {
    let connection = try await TestServer.connect()
    let all = try Migration.all()
    _ = try MigrationRunner(Array(all.prefix { $0.name != "decision_terms" })).up(connection)
    try connection.executeScript(
      """
      CREATE TABLE ad_selection.decision_20260701 PARTITION OF ad_selection.decision
        FOR VALUES FROM ('019f1af9-b400-0000-0000-000000000000') TO ('019f2020-1000-0000-0000-000000000000');
      CREATE VIEW asked AS SELECT n, '2026-07-01 00:15Z'::timestamptz + n * interval '1 millisecond' AS expires_at,
        (lpad(to_hex(1782864000000 + n), 12, '0') || '70008000000000000000')::uuid AS serve_id
      FROM generate_series(1, 5) AS n;
      INSERT INTO ad_selection.decision
      SELECT serve_id, 3, expires_at, 'a', 'b', 'c', 'd' || n % 2, 'e', 'f', 'US', 1, 2, 7, 8, 'USD', 6000, n, 5, n, false, n,
        serve_id, '2026-07-01Z', '2026-07-02Z', 1, 1, NULL, NULL, 900000, '{1,2}', '{u,v}', 1, 'w' || n % 3, 5, 6, 7, 8,
        CASE WHEN n = 1 THEN '{5}'::smallint[] ELSE '{}' END, CASE WHEN n = 1 THEN '{4}'::int[] ELSE '{}' END
      FROM asked;
      INSERT INTO ad_selection.decision (serve_id, partition, app, placement, country, device, size, client_hash, is_test,
        batch_number, request_id, arrival, deadline, outcome, reason, error, detail, candidates, outbid, excluded_reasons,
        excluded_counts)
      VALUES ('019f1af9-b400-7000-9000-000000000000', 3, 'x', 'f', 'US', 1, NULL, 9, false, 1,
        '019f1af9-b400-7000-9000-000000000000', '2026-07-01Z', '2026-07-02Z', 1, 33, 4, 'no', 3, 0, '{5}', '{3}');
      """)
    let before = try rows("ad_selection.decision", connection)
    _ = try MigrationRunner().up(connection)
    #expect(try rows("ad_selection.decision", connection) == before && before.count == 6)
    #expect(try rows("ad_selection.decision_row_20260701", connection).count == 6)
    #expect(try rows("ad_selection.terms", connection).count == 2)
    #expect(try rows("ad_selection.creative", connection).count == 3)
    let wrong = try connection.query(
      """
      SELECT FROM ad_selection.creative WHERE name <> ad_selection.creative_name(lifetime_milliseconds, action, destination,
        image_sizes, image_urls)
      """)
    #expect(wrong.isEmpty)
  }

  /// Charges of each fate, and clicks that wait, in a database of before.
  private func charged(_ connection: PostgresConnection) throws {
    let all = try Migration.all()
    _ = try MigrationRunner(Array(all.prefix { $0.name != "charge_terms" })).up(connection)
    try connection.executeScript(
      """
      CREATE TABLE billing.charge_20260701 PARTITION OF billing.charge
        FOR VALUES FROM ('019f1af9-b400-0000-0000-000000000000') TO ('019f2020-1000-0000-0000-000000000000');
      CREATE VIEW seen AS SELECT n, (lpad(to_hex(1782864000000 + n), 12, '0') || '70008000000000000000')::uuid AS serve_id
      FROM generate_series(1, 6) AS n;
      INSERT INTO billing.charge (serve_id, kind, id_hash, partition, batch_number, sequence, event_time, arrival, fate, price,
        amount, developer_amount, network_amount, allotment, budget_day, draw_version, share_basis_points, app, developer,
        advertiser, campaign, ad, placement, country, device, size, currency)
      SELECT serve_id, kind, kind - 1, 3, n, n, '2026-07-01Z', '2026-07-02Z', fate, 10005, amount, developer, network, n, 5,
        drawn, 6000, 'a', 'b', 'c', 'd' || n % 2, 'e', 'f', 'US', 1, 2, 'USD'
      FROM seen JOIN (VALUES (1, 2, 1, 10005, 6003, 4002, NULL::int), (2, 1, 1, 10005, 6003, 4002, NULL),
        (3, 2, 2, 0, 6003, -6003, 3), (4, 1, 1, 10005, 6003, 4002, 4), (5, 2, 3, 0, 0, 0, 5), (6, 1, 18, 0, 0, 0, NULL)
      ) AS own (n, kind, fate, amount, developer, network, drawn) USING (n);
      INSERT INTO billing.waiting
      SELECT serve_id, 2, n, 3, n, n, '2026-07-01Z', '2026-07-02Z', 4, 10005, 0, 6003, 0, n, 5, NULL, 6000, 'a', 'b', 'c',
        'd1', 'e', 'f', 'US', 1, 2, 'USD', n
      FROM seen WHERE n > 4;
      """)
  }

  @Test("charges and what waits to be one say the same afterwards, but for what stands in their trackers' rows")
  func charges() async throws {
    let connection = try await TestServer.connect()
    try charged(connection)
    func told() throws -> [String] {
      try connection.query(
        """
        SELECT (to_jsonb(c) - 'sequence' - 'arrival')::text FROM billing.charge c
        UNION ALL SELECT (to_jsonb(w) - 'sequence' - 'arrival' - 'position' || '{"developer_amount": 0}')::text
        FROM billing.waiting w ORDER BY 1
        """
      ).map { try $0.decode(0) }
    }
    let before = try told()
    _ = try MigrationRunner().up(connection)
    #expect(try told() == before && before.count == 8)
    #expect(try rows("billing.charge_row_20260701", connection).count == 6)
    #expect(try rows("billing.waiting_row", connection).count == 2)
    // Two campaigns, in each of them impressions and clicks.
    #expect(try rows("billing.terms", connection).count == 2)
    let wrong = try connection.query(
      """
      SELECT FROM billing.terms WHERE last_day <> '2026-07-01' OR name <> public.terms_name(app, developer, advertiser,
        campaign, ad, impression_price, click_price, currency, share_basis_points, life_ms, is_test)
      """)
    #expect(wrong.isEmpty)
  }

  @Test("B2: a charge that says something else than follows from its price stops the migration, and nothing is changed")
  func otherAmount() async throws {
    let connection = try await TestServer.connect()
    try charged(connection)
    try connection.executeScript(
      "UPDATE billing.charge SET developer_amount = developer_amount + 1, network_amount = network_amount - 1 WHERE amount > 0"
    )
    #expect(throws: MigrationError.self) { try MigrationRunner().up(connection) }
    #expect(try rows("billing.charge", connection).count == 6)
  }

  @Test("decisions, deliveries and charges that are stored say the same in narrower rows, in tables of the same days")
  func narrow() async throws {
    let connection = try await TestServer.connect()
    let all = try Migration.all()
    _ = try MigrationRunner(Array(all.prefix { $0.name != "narrow_rows" })).up(connection)
    let days = ["ad_selection.decision_row", "impression_tracking.delivery_row", "billing.charge_row"].map { table in
      """
      CREATE TABLE \(table)_20260701 PARTITION OF \(table)
        FOR VALUES FROM ('019f1af9-b400-0000-0000-000000000000') TO ('019f2020-1000-0000-0000-000000000000');
      """
    }
    try connection.executeScript(
      days.joined() + """
        CREATE VIEW served AS
        SELECT n, (lpad(to_hex(1782864000000 + n), 12, '0') || '70008000000000000000')::uuid AS serve_id, n % 2 = 0 AS is_filled
        FROM generate_series(1, 5) AS n;
        INSERT INTO ad_selection.decision_row (serve_id, partition, app, placement, country, device, size, allotment, budget_day,
          client_hash, is_test, batch_number, request_id, arrival, deadline, outcome, reason, error, detail, reserved,
          expected_value, candidates, outbid, excluded_reasons, excluded_counts, batch_place, rules, catalog_change, paid_ads,
          required_sizes, segments, is_interstitial, terms, creative)
        SELECT serve_id, 3, CASE WHEN NOT is_filled THEN 'a' END, 'p', 'US', 1, 2, CASE WHEN is_filled THEN n END,
          CASE WHEN is_filled THEN 5 END, n, false, n, serve_id, '2026-07-01Z', '2026-07-02Z', 1, 1,
          CASE WHEN NOT is_filled THEN 4 END, 'd', n, 10000000000 + n, 6, 7, '{8}', '{9}', 10, 11, 12, 13, 14, '{s}', true,
          CASE WHEN is_filled THEN 15 END, CASE WHEN is_filled THEN 16 END FROM served;
        INSERT INTO impression_tracking.delivery_row (serve_id, batch_number, event_time, terms, partition, kind, error, device,
          size, is_test, country, placement)
        SELECT serve_id, n, '2026-07-01Z', 15, 3, 1, CASE WHEN NOT is_filled THEN n END, 1, 2, false, 'US', 'p' FROM served;
        INSERT INTO billing.charge_row (serve_id, batch_number, event_time, id_hash, terms, allotment, draw_version, partition,
          budget_day, kind, fate, device, size, country, placement)
        SELECT serve_id, n, '2026-07-01Z', n * (kind - 1), 15, 17, nullif(n, 2), 3, 5, kind, 1, 1, 2, 'US', 'p'
        FROM served, generate_series(1, 2) AS kind;
        """)
    let deliveries = """
      (SELECT serve_id, batch_number, event_time, terms, partition, kind, nullif(error, (-1)::smallint) AS error, device, size,
        is_test, country, placement FROM impression_tracking.delivery_row)
      """
    let tables = ["ad_selection.decision_row", deliveries, "billing.charge_row"]
    let before = try tables.map { try rows($0, connection) }
    _ = try MigrationRunner().up(connection)
    #expect(try tables.map { try rows($0, connection) } == before && before.map(\.count) == [5, 5, 10])
    #expect(
      try rows("impression_tracking.delivery", connection).map { $0.contains("\"error\": null") }.count { $0 } == 2)
    #expect(try rows("ad_selection.decision_row_20260701", connection).count == 5)
    let indexes = try connection.query(
      "SELECT indexdef FROM pg_indexes WHERE schemaname = 'ad_selection' AND tablename = 'decision_row_20260701'")
    #expect(indexes.count == 3)
  }
}
