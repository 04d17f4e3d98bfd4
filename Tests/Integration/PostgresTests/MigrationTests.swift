import LocalProcesses
import Postgres
import Testing

@testable import Migrations

@Suite("Migrations")
struct MigrationTests {
  private let first = Migration(version: 1, name: "one", sql: "CREATE TABLE one (id integer)")
  private let second = Migration(version: 2, name: "two", sql: "INSERT INTO one VALUES (2); CREATE TABLE two ()")

  @Test("the program's own migrations apply once, and a second time nothing is left")
  func ownTwice() async throws {
    let connection = try await TestServer.connect()
    let runner = try MigrationRunner()
    #expect(throws: MigrationError.self) { try runner.check(connection) }
    #expect(try runner.up(connection) == Migration.all().map(\.version))
    #expect(try runner.up(connection).isEmpty)
    try runner.check(connection)
    #expect(try runner.status(connection).allSatisfy { $0.appliedAt != nil })
    let rows = try connection.query(
      "SELECT count(*) FROM pg_namespace WHERE nspname = ANY ($1)", [["billing", "catalog"]])
    #expect(try rows.first?.decode(0, Int64.self) == 2)
  }

  @Test("only what is missing is applied")
  func missing() async throws {
    let connection = try await TestServer.connect()
    #expect(try MigrationRunner([first]).up(connection) == [1])
    let runner = try MigrationRunner([second, first])
    #expect(try runner.status(connection).map { $0.appliedAt != nil } == [true, false])
    #expect(try runner.up(connection) == [2])
  }

  @Test("an applied migration that was edited is refused")
  func edited() async throws {
    let connection = try await TestServer.connect()
    #expect(try MigrationRunner([first]).up(connection) == [1])
    let edited = Migration(version: 1, name: "one", sql: first.sql + " ")
    let error = #expect(throws: MigrationError.self) { try MigrationRunner([edited, second]).up(connection) }
    #expect(error?.description.contains("migration 1 (one) was edited") == true)
  }

  @Test("a database of a newer program is refused")
  func tooNew() async throws {
    let connection = try await TestServer.connect()
    #expect(try MigrationRunner([first, second]).up(connection) == [1, 2])
    let error = #expect(throws: MigrationError.self) { try MigrationRunner([first]).check(connection) }
    guard case .tooNew(applied: 2, required: 1) = error else {
      Issue.record("tooNew is expected, not \(String(describing: error))")
      return
    }
  }

  @Test("where a migration fails all of them are rolled back, and the connection is usable")
  func failing() async throws {
    let connection = try await TestServer.connect()
    let broken = Migration(version: 2, name: "broken", sql: "CREATE TABLE half (); SELECT 1 / 0")
    let error = #expect(throws: MigrationError.self) { try MigrationRunner([first, broken]).up(connection) }
    #expect(error?.description.contains("migration 2 (broken) failed") == true)
    let tables = try connection.query("SELECT relname::text FROM pg_class WHERE relname IN ('one', 'half')")
    #expect(tables.isEmpty)
    #expect(try MigrationRunner([first, second]).up(connection) == [1, 2])
  }

  @Test("functions and views are made again by every run, in the order of their files' names")
  func logic() async throws {
    let connection = try await TestServer.connect()
    let function = Logic.File(name: "10_one.sql", sql: "CREATE OR REPLACE FUNCTION one() RETURNS int RETURN 1")
    let view = Logic.File(name: "20_ones.sql", sql: "CREATE OR REPLACE VIEW ones AS SELECT one() FROM one")
    let runner = try MigrationRunner([first, second], logic: Logic([view, function]))
    #expect(try runner.up(connection) == [1, 2])
    try connection.executeScript("DROP VIEW ones")
    #expect(try runner.up(connection).isEmpty)
    #expect(try connection.query("SELECT one FROM ones").map { row in try row.decode(0, Int32.self) } == [1])
  }

  @Test("a program that carries other functions and views is told to migrate, until it has")
  func otherLogic() async throws {
    let connection = try await TestServer.connect()
    let one = Logic.File(name: "10_one.sql", sql: "CREATE OR REPLACE FUNCTION one() RETURNS int RETURN 1")
    let changed = Logic.File(name: "10_one.sql", sql: "CREATE OR REPLACE FUNCTION one() RETURNS int RETURN 2")
    #expect(try MigrationRunner([first], logic: Logic([one])).up(connection) == [1])
    let runner = try MigrationRunner([first], logic: Logic([changed]))
    let error = #expect(throws: MigrationError.self) { try runner.check(connection) }
    #expect(error?.description.contains("run 'handbill migrate up'") == true)
    #expect(try runner.up(connection).isEmpty)
    try runner.check(connection)
    #expect(try connection.query("SELECT one()").map { row in try row.decode(0, Int32.self) } == [2])
  }

  @Test("steps and the functions that belong to them are made together or not at all")
  func brokenLogic() async throws {
    let connection = try await TestServer.connect()
    let broken = Logic.File(name: "10_broken.sql", sql: "SELECT 1 / 0")
    let runner = try MigrationRunner([first, second], logic: Logic([broken]))
    let error = #expect(throws: MigrationError.self) { try runner.up(connection) }
    #expect(error?.description.contains("10_broken.sql failed") == true)
    let tables = try connection.query("SELECT relname::text FROM pg_class WHERE relname IN ('one', 'two')")
    #expect(tables.isEmpty)
  }

  /// A database with a function that the next release drops in one step, and a table that it changes in another, which
  /// somebody uses.
  private struct UsedTable {
    let runner: MigrationRunner
    let owner: PostgresConnection
    let user: PostgresConnection
    let onlooker: PostgresConnection

    init(_ first: Migration) async throws {
      let configuration = try await TestServer.database()
      owner = try PostgresConnection(configuration)
      user = try PostgresConnection(configuration)
      onlooker = try PostgresConnection(configuration)
      // Where the table is locked this fails, and waits for nobody.
      try onlooker.executeScript("SET lock_timeout = '1s'")
      let old = Logic.File(name: "10_one.sql", sql: "CREATE OR REPLACE FUNCTION one() RETURNS int RETURN 1")
      #expect(try MigrationRunner([first], logic: Logic([old])).up(owner) == [1])
      let new = Logic.File(name: "10_one.sql", sql: "CREATE OR REPLACE FUNCTION one(more int) RETURNS int RETURN more")
      runner = try MigrationRunner(
        [
          first, Migration(version: 2, name: "drop", sql: "DROP FUNCTION one(); CREATE TABLE two ()"),
          Migration(version: 3, name: "widen", sql: "ALTER TABLE one ADD COLUMN more integer"),
        ], logic: Logic([new]), lockMilliseconds: 100)
      try user.begin()
      _ = try user.query("SELECT FROM one")
    }

    /// Columns, functions and history, as somebody else sees them.
    func contents() throws -> [String] {
      let rows = try onlooker.query(
        """
        SELECT format('%s.%s', attrelid::regclass, attname) FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
        WHERE relnamespace = 'public'::regnamespace AND attnum > 0
        UNION ALL SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT format('%s %s', version, name) FROM public.schema_migration
        UNION ALL SELECT checksum::text FROM public.schema_logic
        UNION ALL SELECT id::text FROM one ORDER BY 1
        """)
      return try rows.map { row in try row.decode(0, String.self) }
    }
  }

  @Test("a table that somebody uses is waited for: until then nothing of any step is there or locked, then all of it")
  func busy() async throws {
    let table = try await UsedTable(first)
    let before = try table.contents()
    var seen: [[String]?] = []
    let applied = try table.runner.up(table.owner, tries: 4) { number, _ in
      seen.append(try? table.contents())
      if number == 3 { try? table.user.rollback() }
    }
    #expect(applied == [2, 3])
    #expect(seen == [before, before])
    try table.runner.check(table.onlooker)
    let rows = try table.onlooker.query("SELECT one(5), count(more) FROM one, two")
    #expect(try rows.map { row in try row.decode(0, Int32.self) } == [5])
  }

  @Test("where a table stays in use nothing is changed, and the error says of which step it is")
  func busyForGood() async throws {
    let table = try await UsedTable(first)
    let before = try table.contents()
    var numbers: [Int] = []
    let error = #expect(throws: MigrationError.self) {
      try table.runner.up(table.owner, tries: 3) { number, _ in numbers.append(number) }
    }
    #expect(numbers == [2, 3])
    #expect(error?.description.contains("migration 3 (widen) failed, and all is rolled back: PostgreSQL 55P03") == true)
    #expect(error?.description.contains("somebody uses what it changes") == true)
    #expect(try table.contents() == before)
    // The one who migrates has let the others in, too.
    try table.user.commit()
    #expect(try table.runner.up(table.owner) == [2, 3])
  }

  @Test("how long a file lets locks be waited for is said for itself alone")
  func lockLimits() async throws {
    let connection = try await TestServer.connect()
    let short = Logic.File(name: "10_short.sql", sql: "SET LOCAL lock_timeout = '50ms'")
    let usual = Logic.File(
      name: "20_usual.sql", sql: "DO $$ BEGIN ASSERT current_setting('lock_timeout') = '2s'; END $$")
    #expect(try MigrationRunner([first], logic: Logic([short, usual])).up(connection) == [1])
  }

  @Test("of two that migrate at once, one does it and the other finds it done")
  func concurrent() async throws {
    let configuration = try await TestServer.database()
    async let left = onOwnThread { try MigrationRunner().up(try PostgresConnection(configuration)) }
    async let right = onOwnThread { try MigrationRunner().up(try PostgresConnection(configuration)) }
    let both = try await left + right
    #expect(try both == Migration.all().map(\.version))
  }

  @Test(
    "files are named NNNN_name.sql", arguments: ["1_a.sql", "0001.sql", "0000_a.sql", "0001_a.txt", "0001_.sql", "x"])
  func names(file: String) {
    #expect(Migration(file: file, sql: "") == nil)
  }

  @Test("no number is there twice")
  func numbers() {
    #expect(throws: MigrationError.self) { try MigrationRunner([first, first]) }
  }
}
