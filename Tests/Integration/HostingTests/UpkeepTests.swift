import AdCore
import Postgres
import TestServices
import Testing

@testable import PipelineHost

/// What services do hourly on tables that grow: in pieces, and one thing whether another can be done or not.
@Suite("Upkeep of tables")
struct UpkeepTests {
  private static let now = Timestamp(milliseconds: 1_893_456_000_000)  // 2030-01-01Z
  private static let table = "billing.charge_row"

  private let connection: PostgresConnection
  private let days: DayTables

  init() async throws {
    connection = try PostgresConnection(try await TestDatabase.configuration())
    let retention = Retention(eventDays: 400)
    days = DayTables(
      [Self.table], counts: CountTables("billing", "revenue", retention: retention), retention: retention)
  }

  /// One rejected record of each age, in days, as it came.
  private func reject(ages: [Int]) throws {
    for (offset, age) in ages.enumerated() {
      _ = try connection.query(
        """
        INSERT INTO billing.rejected (partition, topic, record_offset, batch_number, arrival, reason, detail, value,
          value_length, value_hash, record_key, header_names, header_values)
        VALUES (0, 'ads.usage', $1, 1, $2, 60, 'bad', '\\x01', 1, '\\x02', '\\x03', '{ce_id}', '{x}')
        """, [Int64(offset), Self.now.advanced(byMilliseconds: -Int64(age) * Windows.dayMilliseconds)])
    }
  }

  /// Of each rejected record, the oldest first, whether it has its key, its value and its headers, and that its hash stays.
  private func kept() throws -> [String] {
    try connection.query(
      """
      SELECT concat_ws(' ', CASE WHEN record_key IS NOT NULL THEN 'key' END, CASE WHEN value IS NOT NULL THEN 'value' END,
        CASE WHEN header_names IS NOT NULL AND header_values IS NOT NULL THEN 'headers' END,
        CASE WHEN value_hash IS NOT NULL AND value_length = 1 THEN 'hash' END)
      FROM billing.rejected ORDER BY arrival
      """
    ).map { try $0.decode(0) }
  }

  @Test("A8: a rejected record has its key for two days and its bytes for thirty; then length and hash")
  func rejected() throws {
    try reject(ages: [400, 31, 29, 3, 1])
    try days.forgetClients(connection, now: Self.now)
    #expect(try kept() == ["hash", "hash", "value headers hash", "value headers hash", "key value headers hash"])
  }

  @Test("of rejected records so many at a time lose their bytes, and are found without reading the others")
  func pieces() throws {
    try reject(ages: [40, 39, 38, 37, 36])
    func forget() throws -> Int64 {
      try connection.query(
        "SELECT public.forget_rejected('billing', '2029-12-30Z', '2029-12-02Z', 2)")[0].decode(0)
    }
    #expect(try [forget(), forget(), forget(), forget()] == [4, 4, 2, 0])
    #expect(try kept() == Array(repeating: "hash", count: 5))
    try connection.executeScript("SET enable_seqscan = off")
    let plans = try ["record_key IS NOT NULL", "(value IS NOT NULL OR header_names IS NOT NULL)"].map { condition in
      try connection.query(
        "EXPLAIN SELECT 1 FROM billing.rejected WHERE \(condition) AND arrival < now() ORDER BY arrival LIMIT 9"
      ).map { try $0.decode(0, String.self) }.joined()
    }
    #expect(plans[0].contains("rejected_keyed") && plans[1].contains("rejected_kept"), "\(plans)")
  }

  @Test("what can be done is done where something else cannot, and it is told that something could not")
  func apart() throws {
    try reject(ages: [40])
    try connection.executeScript(
      """
      INSERT INTO treasury.campaign_day (campaign, day, requested, funded) VALUES ('summer', 1, 9, 9);
      UPDATE sealed.head SET budget_day = 2;
      DROP FUNCTION public.drop_day(regclass, date); DROP FUNCTION public.forget_terms(text);
      """)
    let error = #expect(throws: PostgresError.self) { try days.work(connection, now: Self.now) { _ in } }
    #expect(error?.description.contains("drop_day") == true)
    #expect(try kept() == ["hash"])
    let sql = "SELECT count(*) FROM public.day_tables('\(Self.table)') WHERE first >= '2030-01-01'"
    let tables: Int64 = try connection.query(sql)[0].decode(0)
    #expect(tables == 4)
    let budgetDays: Int64 = try connection.query("SELECT count(*) FROM treasury.campaign_day")[0].decode(0)
    #expect(budgetDays == 0, "they go with the batches")
  }

  @Test("B4: a campaign's budget days go with the batches, where they are sealed and nothing is allotted or waits")
  func budgetDays() throws {
    try connection.executeScript(
      """
      INSERT INTO treasury.campaign_day (campaign, day, requested, funded, allotted, waiting)
      SELECT 'summer', day - date '1970-01-01', 9, 9, allotted, waiting FROM (VALUES ('2028-01-01'::date, 0, 0),
        ('2028-01-02', 1, 0), ('2028-01-03', 0, 1), ('2028-01-04', 0, 0), ('2028-11-24', 0, 0), ('2030-01-01', 0, 0))
        AS d (day, allotted, waiting);
      """)
    func left() throws -> [String] {
      try connection.query("SELECT (date '1970-01-01' + day)::text FROM treasury.campaign_day ORDER BY day").map {
        try $0.decode(0)
      }
    }
    func forget() throws { _ = try days.work(connection, now: Self.now) { _ in } }
    try forget()
    #expect(try left().count == 6, "nothing is sealed")
    try connection.executeScript("UPDATE sealed.head SET budget_day = date '2028-01-03' - date '1970-01-01'")
    try forget()
    #expect(try left() == ["2028-01-02", "2028-01-03", "2028-01-04", "2028-11-24", "2030-01-01"])
    try connection.executeScript("UPDATE sealed.head SET budget_day = date '2029-12-30' - date '1970-01-01'")
    try forget()
    #expect(try left() == ["2028-01-02", "2028-01-03", "2028-11-24", "2030-01-01"], "within retention")
  }
}
