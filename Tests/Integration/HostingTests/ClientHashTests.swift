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
  private static let perDay = String(repeating: "c", count: 24)

  private let database: PostgresConfiguration
  private let connection: PostgresConnection
  private let days: DayTables

  /// A table of the 26th, one of the 27th and 28th, and one each of the 29th and 30th, with a row in the middle of each
  /// hour; rows say for three days of which client they are.
  init() async throws {
    database = try await TestDatabase.configuration()
    connection = try PostgresConnection(database)
    let retention = Retention(eventDays: 400, clientDays: 3)
    days = DayTables(
      [Self.table], clientTables: [Self.table], counts: CountTables("impression_tracking", retention: retention),
      retention: retention)
    try connection.executeScript(
      """
      DO $do$ DECLARE day regclass; BEGIN
        FOR day IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = '\(Self.table)'::regclass
        LOOP EXECUTE format('DROP TABLE %s', day); END LOOP;
      END $do$;
      SELECT public.keep_days('\(Self.table)', '2029-12-26', 0, 0, 0);
      SELECT public.keep_days('\(Self.table)', '2029-12-27', 0, 0, 0, 2);
      SELECT public.keep_days('\(Self.table)', '2029-12-30', 1, 0, 1);
      """)
    try insert("generate_series(timestamptz '2029-12-26 00:30Z', '2029-12-30 23:30Z', interval '1 hour')")
  }

  private func insert(_ moments: String) throws {
    try connection.executeScript(
      """
      INSERT INTO \(Self.table) (serve_id, batch_number, sequence, event_time, arrival, allotment, client_hash, terms,
        partition, budget_day, device, size, is_test, country, placement)
      SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '70008000000000000001')::uuid, 1, 1,
        moment, moment, 5, 77, 1, 0, 1, 1, 1, false, 'US', 'home'
      FROM \(moments) AS moment
      """)
  }

  private func seal(until day: String) throws {
    try connection.executeScript("UPDATE sealed.head SET open_from = '\(day)Z'")
  }

  /// Of each day, hour by hour, whether its row says of which client it is.
  private func clients() throws -> [String] {
    try connection.query(
      """
      SELECT to_char(public.day_of(serve_id), 'DD ')
        || string_agg(CASE client_hash WHEN 0 THEN '-' ELSE 'c' END, '' ORDER BY serve_id)
      FROM \(Self.table) GROUP BY public.day_of(serve_id) ORDER BY 1
      """
    ).map { try $0.decode(0) }
  }

  private static func day(_ day: Int, _ first: String) -> String { "\(day) \(first)\(perDay.dropFirst(first.count))" }

  private func round(hour: Int64 = 0) throws {
    try days.forgetClients(connection, now: Self.now.advanced(byMilliseconds: hour * 3_600_000 + 700))
  }

  /// Takes clients out of the table that begins with a day, in one piece.
  private func forget(
    _ day: Int, from begins: String, to ends: String, in other: PostgresConnection? = nil
  ) throws -> Bool {
    try (other ?? connection).query(
      """
      SELECT public.forget_clients('\(Self.table)_202912\(day)', '2029-12-\(begins)Z', '2029-12-\(ends)Z', 1, 1)
      """)[0].decode(0)
  }

  @Test("each hour the hashes go of rows that have become so old, if they are sealed")
  func hourly() throws {
    try seal(until: "2029-12-29")
    // The tables before it are done.
    try connection.executeScript(
      """
      COMMENT ON INDEX \(Self.table)_20291226_pkey IS 'without clients before 2029-12-27 00:00:00';
      COMMENT ON INDEX \(Self.table)_20291227_pkey IS 'without clients before 2029-12-29 00:00:00';
      """)
    let others = [26, 27, 28].map { Self.day($0, "") }
    try round(hour: 9)
    #expect(try clients() == others + [Self.day(29, ""), Self.day(30, "")], "whoever compares needs both sides alike")
    try seal(until: "2029-12-30")
    try round()
    #expect(try clients()[3] == Self.day(29, ""))
    try round(hour: 1)
    #expect(try clients()[3] == Self.day(29, "-"))
    let note: String = try connection.query(
      "SELECT obj_description('\(Self.table)_20291229_pkey'::regclass, 'pg_class')")[0].decode(0)
    #expect(note == "without clients before 2029-12-29 01:00:00", "to the second")
    try round(hour: 2)
    #expect(try clients() == others + [Self.day(29, "--"), Self.day(30, "")])
    // The next one is as old, and not sealed.
    try round(hour: 25)
    #expect(try clients()[4] == Self.day(30, ""))
  }

  @Test(
    "what waited goes from all tables side by side, a 12th of each in a round, and what is done is not looked at again")
  func sideBySide() throws {
    try round()
    #expect(try clients() == [26, 27, 28, 29, 30].map { Self.day($0, "") }, "nothing is sealed")
    try seal(until: "2029-12-31")
    let young = [Self.day(29, ""), Self.day(30, "")]
    try round()
    #expect(try clients() == [Self.day(26, "--"), Self.day(27, "----"), Self.day(28, "")] + young)
    // Put back into what is done: it would go again if anybody looked.
    try connection.executeScript(
      """
      UPDATE \(Self.table) SET client_hash = 77
      WHERE event_time IN ('2029-12-26 01:30Z', '2029-12-27 02:30Z')
      """)
    try round()
    #expect(try clients() == [Self.day(26, "-c--"), Self.day(27, "--c-----"), Self.day(28, "")] + young)
    for _ in 3...12 { try round() }
    let none = String(repeating: "-", count: 24)
    #expect(
      try clients() == ["26 -c\(none.dropFirst(2))", "27 --c\(none.dropFirst(3))", "28 \(none)"] + young)
    let left: Int64 = try connection.query(
      "SELECT count(*) FROM public.client_spans('\(Self.table)', '2029-12-29Z')")[0].decode(0)
    #expect(left == 0)
  }

  @Test("what another instance does or has done is left to it, and nobody passes over what is not done or not sealed")
  func instances() throws {
    try seal(until: "2029-12-27")
    let before = try clients()
    let other = try PostgresConnection(database)
    defer { other.close() }
    try other.begin()
    #expect(try forget(26, from: "26 00:00", to: "26 01:00", in: other))
    #expect(try !forget(26, from: "26 00:00", to: "26 01:00"))
    try round()
    #expect(try clients() == before)
    try other.commit()
    #expect(try clients()[0] == Self.day(26, "-"))
    for (day, begins, ends) in [
      (26, "26 00:00", "26 01:00"), (26, "26 02:00", "26 03:00"), (26, "26 01:00", "26 04:00"),
      (27, "27 00:00", "27 01:00"),
    ] {
      #expect(try !forget(day, from: begins, to: ends), "done, not next, too much, not sealed")
    }
    #expect(try clients()[0] == Self.day(26, "-"))
    try round()
    #expect(try clients() == [Self.day(26, "---")] + before.dropFirst())
  }

  @Test("notes of earlier releases, which the tables themselves have, by the day, are understood")
  func notes() throws {
    try seal(until: "2029-12-31")
    try connection.executeScript(
      """
      COMMENT ON TABLE \(Self.table)_20291226 IS 'without clients';
      COMMENT ON TABLE \(Self.table)_20291227 IS 'without clients before 2029-12-28';
      COMMENT ON TABLE \(Self.table)_20291229 IS 'without clients before 2029-12-30';
      """)
    func spans() throws -> [String] {
      try connection.query(
        """
        SELECT to_char(since AT TIME ZONE 'UTC', 'DD HH24') FROM public.client_spans('\(Self.table)', 'infinity')
        ORDER BY since
        """
      ).map { try $0.decode(0) }
    }
    #expect(try spans() == ["28 00", "30 00"])
    #expect(try forget(27, from: "28 00:00", to: "28 04:00"))
    #expect(try spans() == ["28 04", "30 00"])
    try connection.executeScript("SET TimeZone = 'Asia/Tokyo'")
    #expect(try spans() == ["28 04", "30 00"], "whatever a session's time zone")
  }

  @Test("a table from which clients are taken hardly grows, nor does its key, without anybody's vacuum")
  func size() throws {
    let own = "\(Self.table)_20291226"
    try connection.executeScript("ALTER TABLE \(own) SET (autovacuum_enabled = off)")
    try insert("generate_series(timestamptz '2029-12-26 00:00:00.1Z', '2029-12-26 01:59:59Z', interval '0.3 s')")
    try seal(until: "2029-12-27")
    func pages() throws -> [Int64] {
      let row = try connection.query(
        "SELECT pg_relation_size('\(own)') / 8192, pg_relation_size('\(own)_pkey') / 8192")[0]
      return [try row.decode(0), try row.decode(1)]
    }
    let before = try pages()
    try round()
    let left: Int64 = try connection.query(
      "SELECT count(*) FROM \(own) WHERE client_hash <> 0 AND serve_id < public.first_uuid_at('2029-12-26 02:00Z')")[0]
      .decode(0)
    #expect(left == 0)
    let after = try pages()
    #expect(before[0] > 300 && zip(before, after).allSatisfy { $1 * 4 <= $0 * 5 }, "\(before), \(after)")
  }
}
