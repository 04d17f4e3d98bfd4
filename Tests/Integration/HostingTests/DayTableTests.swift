import AdCore
import Postgres
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
      """)
    func forget() throws -> Int64 {
      try #require(try connection.query("SELECT public.forget_batches('billing', '2030-01-01Z', 100)").first?.decode(0))
    }
    #expect(try forget() == 0)
    try connection.executeScript("INSERT INTO sealed.batch VALUES ('billing', 0, 4)")
    #expect(try forget() == 4)
  }
}
