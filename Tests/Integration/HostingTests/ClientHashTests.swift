import AdCore
import Postgres
import TestServices
import Testing

@testable import PipelineHost

/// After 90 days rows do not say any more of which client they are.
@Suite("A8: clients of old rows")
struct ClientHashTests {
  private static let now = Timestamp(milliseconds: 1_893_456_000_000)  // 2030-01-01Z
  private static let table = "impression_tracking.impression_row"

  @Test("hashes of clients go after so many days, of sealed days, and everything else stays")
  func forgotten() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    defer { connection.close() }
    // One impression at the beginning and at the end of each day.
    try connection.executeScript(
      """
      SELECT public.keep_days('\(Self.table)', '2030-01-01', 9, 0, 9);
      INSERT INTO impression_tracking.impression (serve_id, partition, batch_number, sequence, event_time, arrival, expires_at,
        app, developer, advertiser, campaign, ad, placement, country, device, size, impression_price, click_price, currency,
        share_basis_points, allotment, budget_day, client_hash, is_test)
      SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '70008000000000000001')::uuid, 0, 1, 1, moment,
        moment, moment, 'app', 'dev', 'adv', 'camp', 'ad', 'home', 'US', 1, 1, 1, 1, 'USD', 6000, 5, 1, 77, false
      FROM generate_series(timestamptz '2029-12-25Z', '2029-12-30 23:59:59Z', interval '23:59:59') AS moment
      WHERE extract(hour FROM moment AT TIME ZONE 'UTC') IN (0, 23);
      """)
    let retention = Retention(eventDays: 400, clientDays: 3)
    let days = DayTables(
      [Self.table], clientTables: [Self.table], counts: CountTables("impression_tracking", retention: retention),
      retention: retention)
    func clients() throws -> [String] {
      try connection.query(
        """
        SELECT to_char(public.day_of(serve_id), 'DD') || ' ' || string_agg(client_hash::text, ' ' ORDER BY serve_id)
        FROM \(Self.table) GROUP BY public.day_of(serve_id) ORDER BY 1
        """
      ).map { try $0.decode(0) }
    }
    let before = try clients()
    #expect(before.allSatisfy { $0.contains("77") && !$0.contains(" 0") } && before.count == 6, "\(before)")

    // Nothing is sealed: whoever compares needs both sides alike.
    try days.forgetClients(connection, now: Self.now)
    #expect(try clients() == before)
    try connection.executeScript("UPDATE sealed.head SET open_from = '2029-12-28Z'")
    try days.forgetClients(connection, now: Self.now)
    let after = try clients()
    #expect(after.prefix(3).allSatisfy { !$0.contains("77") && $0.contains(" 0") }, "\(after)")
    #expect(Array(after.dropFirst(3)) == Array(before.dropFirst(3)))

    // The 29th and later ones are too young, sealed or not.
    try connection.executeScript("UPDATE sealed.head SET open_from = '2029-12-31Z'")
    try days.forgetClients(connection, now: Self.now)
    #expect(try clients().map { $0.contains("77") } == [false, false, false, false, true, true])
    // A day that has none is not read again.
    let left: PostgresDate? = try connection.query(
      "SELECT public.day_with_clients($1::text::regclass, '2029-12-29')", [Self.table])[0].decode(0)
    #expect(left == nil)
  }
}
