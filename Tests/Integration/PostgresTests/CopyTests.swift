import LocalProcesses
import Postgres
import TestServers
import Testing

@Suite("COPY")
struct CopyTests {
  private func connectionWithTable() async throws -> PostgresConnection {
    let connection = try await TestServer.connect()
    try connection.executeScript("CREATE TABLE fact (id uuid PRIMARY KEY, n bigint NOT NULL)")
    return connection
  }

  private func rows(_ range: Range<UInt64>, into table: String = "fact") -> TableRows {
    let rows = TableRows(TableColumns(table, ["id", "n"]), capacity: 1)
    for number in range {
      rows.begin()
      rows.buffer.append(uuidHigh: 7, low: number)
      rows.buffer.append(int64: Int64(number))
    }
    return rows
  }

  private func sum(_ connection: PostgresConnection) throws -> Int128 {
    try #require(try connection.query("SELECT coalesce(sum(n), 0) FROM fact").first).decode(0)
  }

  @Test("100,000 rows arrive")
  func large() async throws {
    let connection = try await connectionWithTable()
    let rows = rows(0..<100_000, into: "public.fact")
    #expect(try connection.copy(rows) == 100_000)
    #expect(try sum(connection) == 4_999_950_000)
  }

  @Test("rows of several batches are joined table by table, and lie in one order", arguments: [true, false])
  func joined(isCopied: Bool) async throws {
    let connection = try await TestServer.connect()
    let tables = ["one", "other"].map { TableColumns($0, ["serve_id", "n"]) }
    for table in ["one", "other"] {
      try connection.executeScript("CREATE TABLE \(table) (serve_id uuid PRIMARY KEY, n bigint NOT NULL)")
    }
    func rows(_ columns: TableColumns, _ numbers: [UInt64]) -> TableRows {
      let rows = TableRows(columns, capacity: 0)
      for number in numbers {
        rows.begin()
        rows.buffer.append(uuidHigh: 1, low: number)
        rows.buffer.append(int64: Int64(number))
      }
      return rows
    }
    let joined = TableRows.joined([
      [rows(tables[0], [3, 9]), rows(tables[1], [])], [rows(tables[1], [2])],
      [rows(tables[0], [7, 1]), rows(tables[1], [1])],
    ])
    #expect(joined.map(\.count) == [4, 2])
    for table in joined { table.sortByServe() }
    if isCopied {
      for table in joined { _ = try connection.copy(table) }
    } else {
      var statements = StatementBatch()
      for table in joined { statements.insert(table) }
      _ = try connection.run(statements)
    }
    func stored(_ table: String) throws -> [Int64] {
      try connection.query("SELECT n FROM \(table) ORDER BY ctid").map { try $0.decode(0) }
    }
    #expect(try stored("one") == [1, 3, 7, 9])
    #expect(try stored("other") == [1, 2])
  }

  @Test("every type arrives as it was appended, by COPY and as an INSERT", arguments: [true, false])
  func types(isCopied: Bool) async throws {
    let connection = try await TestServer.connect()
    try connection.executeScript(
      """
      CREATE TABLE every (a boolean, b smallint, c integer, d bigint, e uuid, f text, g bytea, h timestamptz,
        i numeric(38, 0), j bigint)
      """)
    let rows = TableRows(TableColumns("public.every", "abcdefghij".map { String($0) }), capacity: 0)
    let buffer = rows.buffer
    rows.begin()
    buffer.append(bool: true)
    buffer.append(int16: .min)
    buffer.append(int32: .min)
    buffer.append(int64: .min)
    buffer.append(uuidHigh: 1, low: .max)
    buffer.append(text: "ünï")
    buffer.append(bytea: [] as [UInt8])
    buffer.append(timestampMicroseconds: -1)
    buffer.append(numeric: -99_999_999_999_999_999_999_999_999_999_999_999_999)
    buffer.null()
    if isCopied {
      #expect(try connection.copy(rows) == 1)
    } else {
      var statements = StatementBatch()
      statements.insert(rows)
      #expect(try connection.run(statements).affectedRows(at: 0) == 1)
    }
    let row = try #require(try connection.query("SELECT * FROM every").first)
    #expect(try row.decode(0, Bool.self))
    #expect(try row.decode(1, Int16.self) == .min)
    #expect(try row.decode(2, Int32.self) == .min)
    #expect(try row.decode(3, Int64.self) == .min)
    #expect(try row.decode(4) == PostgresUUID(high: 1, low: .max))
    #expect(try row.decode(5, String.self) == "ünï")
    #expect(try row.decode(6, [UInt8].self) == [])
    #expect(try row.decode(7) == PostgresTimestamp(microseconds: -1))
    #expect(try row.decode(8, Int128.self) == -99_999_999_999_999_999_999_999_999_999_999_999_999)
    #expect(try row.decode(9, Int64?.self) == nil)
  }

  @Test("a unique violation fails the COPY, and the connection is usable after ROLLBACK")
  func uniqueViolation() async throws {
    let connection = try await connectionWithTable()
    try connection.begin()
    #expect(try connection.copy(rows(0..<10)) == 10)
    let error = #expect(throws: PostgresError.self) {
      try connection.copy(rows(9..<100_000))
    }
    #expect(error?.isUniqueViolation == true)
    #expect(error?.constraint == "fact_pkey")
    #expect(error?.detail?.contains("00000009") == true)
    #expect(error.map { !$0.description.contains("00000009") } == true)
    try connection.rollback()
    #expect(try sum(connection) == 0)
  }

  @Test("several COPYs and a statement batch with COMMIT make one transaction")
  func several() async throws {
    let connection = try await connectionWithTable()
    try connection.executeScript("CREATE TABLE other (id uuid, n bigint)")
    try connection.begin()
    try connection.copy(rows(0..<10))
    try connection.copy(rows(0..<5, into: "other"))
    try connection.batch { statements in
      statements.send(sql: "UPDATE other SET n = n + 1")
      statements.commit()
    }
    #expect(try sum(connection) == 45)
  }

  @Test("rows of served ads are written in the order of their ids, whole, and those of one id as they came")
  func sorted() async throws {
    let connection = try await TestServer.connect()
    try connection.executeScript("CREATE TABLE shown (serve_id uuid, what text)")
    let rows = TableRows(TableColumns("shown", ["serve_id", "what"]), capacity: 1)
    let shown: [(UInt64, String)] = [
      (3, "third"), (1, "first"), (3, "third, later"), (2, "second"), (1, "first, later"),
    ]
    for (id, what) in shown {
      rows.begin()
      rows.buffer.append(uuidHigh: 7, low: id)
      rows.buffer.append(text: what)
    }
    rows.sortByServe()
    #expect(try connection.copy(rows) == 5)
    let written = try connection.query("SELECT what FROM shown ORDER BY ctid").map { try $0.decode(0, String.self) }
    #expect(written == ["first", "first, later", "second", "third", "third, later"])
  }

  @Test("rows that do not all begin with an id are written as they came", arguments: [0, 2])
  func unsorted(null: UInt64) async throws {
    let connection = try await TestServer.connect()
    try connection.executeScript("CREATE TABLE shown (serve_id uuid, n bigint)")
    let rows = TableRows(TableColumns("shown", ["serve_id", "n"]), capacity: 1)
    for (number, id) in ([3, 2, 1] as [UInt64]).enumerated() {
      rows.begin()
      if id == null + 1 { rows.buffer.null() } else { rows.buffer.append(uuidHigh: 7, low: id) }
      rows.buffer.append(int64: Int64(number))
    }
    rows.sortByServe()
    #expect(try connection.copy(rows) == 3)
    let written = try connection.query("SELECT n FROM shown ORDER BY ctid").map { try $0.decode(0, Int64.self) }
    #expect(written == [0, 1, 2])
  }

  @Test("rows are packed by what they have in common, and come out of the arrays as they were")
  func packed() async throws {
    let connection = try await TestServer.connect()
    try connection.executeScript(
      """
      CREATE TABLE each (a integer, b text, c text, d numeric(38, 0), e boolean);
      CREATE TABLE many (a integer, b text, c text[], d numeric(38, 0)[], e boolean[]);
      """)
    let names = "abcde".map { String($0) }
    let types = [PostgresType.text, PostgresType.numeric, PostgresType.bool]
    let rows = TableRows(
      TableColumns("each", names, packed: PackedColumns("many", names, elementTypes: types)), capacity: 0)
    for number in 0..<60 as Range<Int32> {
      rows.begin()
      rows.buffer.append(int32: number % 2)
      rows.buffer.append(text: "b\(number % 3)")
      if number == 7 { rows.buffer.null() } else { rows.buffer.append(text: "c\(number % 5)") }
      rows.buffer.append(numeric: Int128(number) - 30)
      rows.buffer.append(bool: number % 7 == 0)
    }
    #expect(try connection.copy(rows) == 60)
    #expect(try connection.copy(rows.packed()) == 6)
    let unpacked = "SELECT a, b, x.* FROM many, unnest(c, d, e) AS x"
    let difference = "(SELECT * FROM each EXCEPT ALL \(unpacked)) UNION ALL (\(unpacked) EXCEPT ALL SELECT * FROM each)"
    #expect(try connection.query(difference).isEmpty)
    // What is alike stands side by side.
    let sorted = "(SELECT array_agg(x ORDER BY x NULLS LAST) FROM unnest(c) AS x)"
    #expect(try connection.query("SELECT c FROM many WHERE c <> \(sorted)").isEmpty)
  }

  @Test("a missing table fails the COPY before any row is sent")
  func gapRequestTable() async throws {
    let connection = try await connectionWithTable()
    let error = #expect(throws: PostgresError.self) {
      try connection.copy(rows(0..<10, into: "fact\"; DROP TABLE fact; --"))
    }
    #expect(error?.sqlState == "42P01")
    #expect(try sum(connection) == 0)
  }

  @Test("a backend that is terminated in the middle of a COPY is a lost connection, and reconnecting helps")
  func terminated() async throws {
    let connection = try await connectionWithTable()
    // The trigger ends the COPY's own backend when half of the rows have come.
    try connection.executeScript(
      """
      CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN IF NEW.n = 50000 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NEW; END';
      CREATE TRIGGER die BEFORE INSERT ON fact FOR EACH ROW EXECUTE FUNCTION die();
      """)
    let error = #expect(throws: PostgresError.self) {
      try connection.copy(rows(0..<100_000))
    }
    #expect(error?.kind == .connectionLost(commitUnknown: false))
    #expect(!connection.isUsable)
    try connection.reconnect()
    #expect(try sum(connection) == 0)
  }

  @Test("a backend that dies in COMMIT leaves it unknown whether the transaction is committed")
  func lostInCommit() async throws {
    let connection = try await connectionWithTable()
    try connection.executeScript(
      """
      CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(9); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER die AFTER INSERT ON fact DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION die();
      """)
    try connection.begin()
    try connection.copy(rows(0..<1))
    let error = #expect(throws: PostgresError.self) { try connection.commit() }
    #expect(error?.kind == .connectionLost(commitUnknown: true))
    #expect(error?.isRetriable == false)
    #expect(!connection.isUsable)
  }

  @Test("no server is an error that says what to do")
  func noServer() throws {
    let configuration = try PostgresConfiguration("postgresql://user:geheim@/database?host=/nonexistent")
    let error = #expect(throws: PostgresError.self) { try PostgresConnection(configuration) }
    #expect(error?.kind == .cannotConnect)
    #expect(error?.description.contains("Check that PostgreSQL runs") == true)
    #expect(error.map { !$0.description.contains("geheim") } == true)
    #expect(!"\(configuration)".contains("geheim"))
  }

  @Test("a wrong password is an error of its own kind")
  func wrongPassword() async throws {
    let folder = try TemporaryFolder(prefix: "pw")
    defer { folder.remove() }
    let server = try await PrivatePostgres.started(
      PrivatePostgres.Configuration(folder: folder.path, port: try FreePort.find()))
    let url = try #require(try server.tcpURL())
    let right = try PostgresConnection(try PostgresConfiguration(url))
    #expect(right.isUsable)
    let password = try #require(url.split(separator: "@").first?.split(separator: ":").last)
    let wrong = try PostgresConfiguration(url.replacing(":\(password)@", with: ":geheim@"))
    let error = #expect(throws: PostgresError.self) { try PostgresConnection(wrong) }
    #expect(error?.kind == .authenticationFailed)
    #expect(error?.sqlState == "28P01")
    #expect(error?.isRetriable == false)
    #expect(error.map { !$0.description.contains("geheim") } == true)
    right.close()
    try await server.stop()
  }
}
