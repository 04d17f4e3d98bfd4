import AdCore
import Foundation
import Postgres
import Testing

@testable import Migrations

@Suite("Numbers with public meaning in the database")
struct VocabularyTests {
  private static func migrated() async throws -> PostgresConnection {
    let connection = try await TestServer.connect()
    _ = try MigrationRunner().up(connection)
    return connection
  }

  private static let rows = """
    SELECT concat_ws(' ', vocabulary, number, name, coalesce(rule, '–'), meaning) FROM reporting.vocabulary
    """

  private static func stored(_ connection: PostgresConnection) throws -> Set<String> {
    Set(try connection.query(rows).map { try $0.decode(0, String.self) })
  }

  private static let own = Set(
    Vocabularies.all.flatMap(\.words).map { word in
      "\(word.vocabulary) \(word.number) \(word.name) \(word.rule ?? "–") \(word.meaning)"
    })

  @Test("a migrated database has the program's words, and each run of the migrations makes them again")
  func rows() async throws {
    let connection = try await Self.migrated()
    #expect(try Self.stored(connection) == Self.own)
    try connection.executeScript(
      """
      DELETE FROM vocabulary.word WHERE vocabulary = 'device';
      UPDATE vocabulary.word SET meaning = 'another' WHERE vocabulary = 'charge_fate';
      INSERT INTO vocabulary.word (vocabulary, number, name, meaning) VALUES ('device', 99, 'watch', 'of no program');
      """)
    #expect(try MigrationRunner().up(connection).isEmpty)
    #expect(try Self.stored(connection) == Self.own)
  }

  @Test("a changed vocabulary is other logic, by which services know that the database is not theirs")
  func changed() async throws {
    let connection = try await Self.migrated()
    try MigrationRunner().check(connection)
    let files = Logic.own.files.map { file in
      Logic.File(name: file.name, sql: file.sql.replacingOccurrences(of: "'320x50'", with: "'320x51'"))
    }
    #expect(files != Logic.own.files)
    let other = try MigrationRunner(Migration.all(), logic: Logic(files))
    #expect(throws: MigrationError.self) { try other.check(connection) }
    _ = try other.up(connection)
    #expect(throws: MigrationError.self) { try MigrationRunner().check(connection) }
    #expect(try connection.query("SELECT vocabulary.ad_size('320x51')")[0].decode(0, Int16.self) == 1)
  }

  @Test("SQL says numbers by words and words by numbers; a word that there is not is an error")
  func functions() async throws {
    let connection = try await Self.migrated()
    for word in Vocabularies.all.flatMap(\.words) {
      let row = try connection.query(
        "SELECT vocabulary.\(word.vocabulary)('\(word.name)'), vocabulary.\(word.vocabulary)_name(\(word.number)::smallint)"
      )[0]
      #expect(try row.decode(0, Int16.self) == word.number && row.decode(1, String.self) == word.name, "\(word)")
    }
    let error = #expect(throws: PostgresError.self) { try connection.query("SELECT vocabulary.charge_fate('charge')") }
    #expect(error?.sqlState == "22P02")
    #expect(try connection.query("SELECT vocabulary.device_name(0::smallint)")[0].decode(0, String?.self) == nil)
  }

  @Test("what follows from a decision's reason is what the program says")
  func decisions() async throws {
    let connection = try await Self.migrated()
    for reason in DecisionReason.allCases {
      let row = try connection.query(
        "SELECT vocabulary.error_of_decision($1), ad_selection.is_without_app_key($1)", [reason.number])[0]
      #expect(try row.decode(0, Int16?.self) == reason.error?.number, "\(reason)")
      #expect(try row.decode(1, Bool.self) == reason.isWithoutAppKey, "\(reason)")
    }
  }

  @Test("every word that functions and views use exists")
  func used() throws {
    let known = Set(Vocabularies.all.flatMap(\.words).map { "\($0.vocabulary)('\($0.name)')" })
    let pattern = try NSRegularExpression(pattern: "vocabulary\\.(\\w+\\('\\w*'\\))")
    var count = 0
    for file in Logic.own.files where file.name != "00_vocabulary.sql" {
      let text = file.sql as NSString
      for match in pattern.matches(in: file.sql, range: NSRange(location: 0, length: text.length)) {
        #expect(known.contains(text.substring(with: match.range(at: 1))), "\(file.name)")
        count += 1
      }
    }
    #expect(count > 40)
  }

  @Test("the planner puts the number in the word's place, so that an index for some numbers serves")
  func plan() async throws {
    let connection = try await Self.migrated()
    try connection.executeScript("SET enable_seqscan = off")
    let plan = try connection.query(
      "EXPLAIN SELECT 1 FROM billing.allotment WHERE partition = 0 AND state < vocabulary.allotment_state('ended')"
    ).map { try $0.decode(0, String.self) }.joined(separator: "\n")
    #expect(plan.contains("allotment_not_ended") && !plan.contains("vocabulary"), "\(plan)")
  }

  @Test("every small number in a table says which vocabulary it is of")
  func columns() async throws {
    let connection = try await Self.migrated()
    let columns = try connection.query(
      """
      SELECT concat_ws('.', n.nspname, c.relname, a.attname), substring(col_description(c.oid, a.attnum) FROM
        'of (\\w+) .reporting.vocabulary.')
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE a.attnum > 0 AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname !~ '^pg_|^information_schema'
        AND n.nspname <> 'vocabulary' AND a.atttypid IN ('smallint'::regtype, 'smallint[]'::regtype)
      """
    ).map { row in (column: try row.decode(0, String.self), vocabulary: try row.decode(1, String?.self)) }
    #expect(columns.count > 50)
    // A set of bits is no number of a vocabulary, nor is a place in a batch.
    let others = ["decision_row.edge_flags", "decision_pack.edge_flags", "decision_pack.batch_indexes"]
    for (column, vocabulary) in columns where !others.contains(where: { column == "ad_selection.\($0)" }) {
      #expect(Vocabularies.all.contains { $0.name == vocabulary }, "\(column) is of \(vocabulary ?? "none")")
    }
  }
}
