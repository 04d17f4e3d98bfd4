import AdCore
import Postgres
import Runtime
import TestServices
import Testing

@testable import PipelineHost

/// Making and dropping the tables of days: what is not sealed stays, and no batch waits.
@Suite("Tables of days")
struct DayTableTests {
  private static let now = Timestamp(milliseconds: 1_893_456_000_000)  // 2030-01-01Z
  private static let table = "billing.charge_row"

  private let database: PostgresConfiguration
  private let connection: PostgresConnection
  private let days: DayTables

  /// Ten days of tables until now, retention of five.
  init() async throws {
    database = try await TestDatabase.configuration()
    connection = try PostgresConnection(database)
    let retention = Retention(eventDays: 5)
    days = DayTables(
      [Self.table], counts: CountTables("billing", "revenue", retention: retention), retention: retention)
    try connection.executeScript(
      """
      DO $do$ DECLARE day regclass; BEGIN
        FOR day IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = '\(Self.table)'::regclass
        LOOP EXECUTE format('DROP TABLE %s', day); END LOOP;
      END $do$;
      SELECT public.keep_days('\(Self.table)', '2030-01-01', 9, 0, 9);
      """)
  }

  private func tables() throws -> [String] {
    try connection.query(
      """
      SELECT right(c.relname, 8) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = $1::text::regclass ORDER BY 1
      """, [Self.table]
    ).map { try $0.decode(0) }
  }

  private func seal(until day: String) throws {
    try connection.executeScript("UPDATE sealed.head SET open_from = '\(day)Z'")
  }

  @Test("nothing is dropped while our clock and the database's differ by more than an hour")
  func clock() throws {
    let theirs = Timestamp(try connection.query("SELECT now()")[0].decode(0, PostgresTimestamp.self))
    let limit = DayTables.clockErrorMilliseconds
    for away in [0, limit - 60_000, 60_000 - limit] {
      try days.checkClock(connection, now: theirs.advanced(byMilliseconds: away))
    }
    for away in [limit + 60_000, -limit - 60_000] {
      #expect(throws: PostgresError.self) {
        try days.checkClock(connection, now: theirs.advanced(byMilliseconds: away))
      }
    }
  }

  @Test("a day beyond retention stays until it is sealed, and it is told how many do")
  func unsealed() throws {
    #expect(try days.drop(connection, now: Self.now) == [Self.table: 4])
    #expect(try tables().count == 10)
    try seal(until: "2029-12-25")
    #expect(try days.drop(connection, now: Self.now) == [Self.table: 2])
    #expect(try tables().first == "20291225")
    // What is within retention stays, sealed or not.
    try seal(until: "2029-12-30")
    #expect(try days.drop(connection, now: Self.now) == [Self.table: 0])
    #expect(try tables().first == "20291227")
  }

  @Test("no table has statistics of its arrays made, nor has a day that is made later")
  func arrays() throws {
    let service = "ad_selection"
    let retention = Retention(eventDays: 5)
    try DayTables(
      ["\(service).decision_pack"], counts: CountTables(service, "count", retention: retention), retention: retention
    ).maintain(connection, now: Self.now)
    let arrays = try connection.query(
      """
      SELECT attrelid::regclass::text, attstattarget IS NOT DISTINCT FROM 0 FROM pg_attribute a
      JOIN pg_class c ON c.oid = a.attrelid
      WHERE c.relkind IN ('r', 'p') AND c.relnamespace >= 16384 AND a.attnum > 0 AND NOT a.attisdropped
        AND format_type(a.atttypid, a.atttypmod) LIKE '%[]'
      """
    ).map { (table: try $0.decode(0, String.self), isSpared: try $0.decode(1, Bool.self)) }
    for made in ["decision_pack_20300101", "packed_count_20300101"] {
      #expect(arrays.contains { $0.table == "\(service).\(made)" }, "\(made)")
    }
    #expect(Set(arrays.filter { !$0.isSpared }.map(\.table)) == [])
  }

  @Test(
    "a table may have several days: the next one goes on where the last one ended, whatever its width, and goes whole")
  func width() throws {
    let retention = Retention(eventDays: 5, tableDays: 7)
    let weeks = DayTables(
      [Self.table], counts: CountTables("billing", "revenue", retention: retention), retention: retention)
    func day(_ number: Int64) -> Timestamp { Self.now.advanced(byMilliseconds: 86_400_000 * (number - 1)) }
    try weeks.maintain(connection, now: day(1))
    try weeks.maintain(connection, now: day(2))
    #expect(try tables().suffix(3) == ["20300101", "20300102", "20300103"], "weeks are counted from 1970")
    try days.maintain(connection, now: day(9))
    #expect(try tables().suffix(4) == ["20300103", "20300110", "20300111", "20300112"])
    let last = try connection.query(
      "SELECT next::text FROM public.day_tables($1::text::regclass) ORDER BY first", [Self.table]
    )
    .map { try $0.decode(0, String.self) }
    #expect(last.suffix(5) == ["2030-01-03", "2030-01-10", "2030-01-11", "2030-01-12", "2030-01-13"])

    try connection.executeScript("DROP TABLE \(Self.table)_20300110")
    try weeks.maintain(connection, now: day(9))
    #expect(
      try tables().suffix(3) == ["20300110", "20300111", "20300112"], "one that is missing ends where the next begins")

    try seal(until: "2030-01-09")
    #expect(try days.drop(connection, now: day(14)) == [Self.table: 0], "one day of the week is within retention")
    #expect(try tables().first == "20300103")
    #expect(try days.drop(connection, now: day(15)) == [Self.table: 7], "one is not sealed")
    try seal(until: "2030-01-10")
    #expect(try days.drop(connection, now: day(15)) == [Self.table: 0])
    #expect(try tables().first == "20300110")
  }

  @Test("a service makes tables by the way that is given for it")
  func maintenance() throws {
    let retention = Retention(maintenanceURL: "postgresql://nobody-listens-here:1/handbill")
    let days = DayTables(
      [Self.table], counts: CountTables("billing", "revenue", retention: retention), retention: retention)
    #expect(throws: PostgresError.self) { try days.connect(database) }
    #expect(throws: Never.self) { try self.days.connect(database).close() }
  }

  @Test("making days waits for no batch, and dropping one gives up soon and is tried again: no batch waits for it")
  func busy() throws {
    try seal(until: "2029-12-25")
    // A batch with its locks.
    var patient = database
    patient.idleInTransactionTimeoutMilliseconds = 600_000
    let batch = try PostgresConnection(patient)
    defer { batch.close() }
    try batch.begin()
    _ = try batch.query("LOCK TABLE \(Self.table) IN ROW EXCLUSIVE MODE")

    try days.maintain(connection, now: Self.now.advanced(byMilliseconds: 86_400_000))
    #expect(try tables().last == "20300105")

    let other = try PostgresConnection(database)
    defer { other.close() }
    var tries = 0
    let left = try days.drop(connection, now: Self.now) {
      tries += 1
      // Between two tries nothing is in the way of another batch.
      _ = try? other.query("SET lock_timeout = '1ms'")
      #expect(throws: Never.self) { _ = try other.query("SELECT count(*) FROM \(Self.table)") }
      if tries == 3 { #expect(throws: Never.self) { try batch.commit() } }
    }
    #expect(tries == 3)
    #expect(left == [Self.table: 2])
    #expect(try tables().first == "20291225")
  }

  @Test("whoever holds a day for longer makes dropping fail, to be done later")
  func held() throws {
    try seal(until: "2029-12-25")
    var patient = database
    patient.idleInTransactionTimeoutMilliseconds = 600_000
    let batch = try PostgresConnection(patient)
    defer { batch.close() }
    try batch.begin()
    _ = try batch.query("SELECT count(*) FROM \(Self.table)")
    let error = #expect(throws: PostgresError.self) { try days.drop(connection, now: Self.now) }
    #expect(error?.sqlState == "55P03")
    try batch.commit()
    _ = try days.drop(connection, now: Self.now)
    #expect(try tables().first == "20291225")
  }

  @Test("batches are forgotten only as far as they are sealed")
  func batches() throws {
    try connection.executeScript(
      """
      INSERT INTO billing.partition (partition, batch_number) VALUES (0, 9);
      INSERT INTO billing.batch (partition, batch_number, committed_at, watermark, input_topics, first_offsets, next_offsets,
        output_topics, first_sequences, next_sequences, outcomes)
      SELECT 0, n, '2029-01-01Z', '2029-01-01Z', '{}', '{}', '{}', '{}', '{}', '{}', '' FROM generate_series(1, 9) AS n;
      INSERT INTO billing.posting SELECT p, n, a, 'USD', 1, 1 FROM generate_series(0, 1) AS p, generate_series(1, 9) AS n,
        unnest(ARRAY['x', 'y']) AS a;
      """)
    func journals() throws -> [String] {
      try connection.query(
        "SELECT partition || ' from ' || min(batch_number) FROM billing.posting GROUP BY partition ORDER BY 1"
      ).map { row throws(PostgresError) in try row.decode(0) }
    }
    func forget() throws -> Int64 {
      try #require(try connection.query("SELECT public.forget_batches('billing', '2030-01-01Z', 100)").first?.decode(0))
    }
    #expect(try forget() == 0)
    #expect(try journals() == ["0 from 1", "1 from 1"])
    func forgetJournals(most: Int32) throws -> Int64 {
      try #require(try connection.query("SELECT billing.forget_journals($1)", [most]).first?.decode(0))
    }
    #expect(try forgetJournals(most: 100) == 0)
    try connection.executeScript("INSERT INTO sealed.batch VALUES ('billing', 0, 4)")
    #expect(try forget() == 4)
    #expect(try journals() == ["0 from 1", "1 from 1"])
    #expect(try (0..<4).map { _ in try forgetJournals(most: 3) } == [3, 3, 2, 0])
    #expect(try journals() == ["0 from 5", "1 from 1"])
    for condition in ["batch_number <= 5 AND partition = 0", "batch_number = 1", "true"] {
      let refused = #expect(throws: PostgresError.self) {
        _ = try connection.query("DELETE FROM billing.posting WHERE \(condition)")
      }
      #expect(refused?.sqlState == "HB003", "\(condition)")
    }
  }
}
