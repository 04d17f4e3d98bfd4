import Foundation
import Testing

@Suite struct ArchitectureTests {
  /// A rule by its name, and a file that must be found to break it.
  struct Check: Sendable, CustomTestStringConvertible {
    let name: String
    let violations: @Sendable (SourceFile) -> [String]
    let offender: SourceFile
    var testDescription: String { name }

    init(_ name: String, _ path: String, _ text: String, _ violations: @escaping @Sendable (SourceFile) -> [String]) {
      self.name = name
      self.violations = violations
      offender = SourceFile(path: path, text: text)
    }
  }

  static let longFunction = "func long() {\n" + String(repeating: "  step()\n", count: 55) + "}\n"
  static let wideFunction =
    "  func wide(\n    a: Int, b: [Int: Int], c: Int,\n    d: (Int, Int), e: Int, f: Int, g: Int, h: Int\n  )"
  /// What is given to it is used, not only kept.
  static let wideInitialiser = "package init(a: A, b: B, c: C, d: D, e: E, f: F, g: G, h: H) {\n  run(a)\n}\n"

  /// What has tools is no row, though it only keeps them.
  static let wideClass =
    "final class A {\n  init(a: A, b: B, c: C, d: D, e: E, f: F, g: G, h: H) {\n    self.a = a\n  }\n}\n"

  static let longSQLFunction =
    "CREATE FUNCTION long() RETURNS void LANGUAGE plpgsql AS $function$\nBEGIN\n"
    + String(repeating: "  PERFORM step();\n", count: 53) + "END\n$function$;\n"
  static let longSQLBody =
    "CREATE OR REPLACE FUNCTION long() RETURNS void LANGUAGE sql\nBEGIN ATOMIC\n"
    + String(repeating: "  SELECT step();\n", count: 54) + "END;\n"

  static func lookUp(_ condition: String) -> String {
    "let a = \"SELECT b FROM billing.charge AS a WHERE \(condition)\""
  }

  static let checks: [Check] = [
    Check("C library outside its target", "Shared/Runtime/A.swift", "import CLibpq", ImportRules.violations),
    Check("I/O in pure code", "Shared/Pipeline/A.swift", "package import Kafka", ImportRules.violations),
    Check("the system in pure code", "Shared/AdCore/A.swift", "import func Glibc.time", ImportRules.violations),
    Check("a clock in pure code", "Services/Billing/Core/A.swift", "let now = Date()", ImportRules.violations),
    Check(
      "a service's core in another", "Services/Billing/Service/A.swift", "import ClickTrackingCore",
      ImportRules.violations),
    Check(
      "test code in a product", "Services/Billing/Service/A.swift", "@testable import Testing", ImportRules.violations),
    Check(
      "a supervisor in a service", "Services/Billing/Service/A.swift", "import LocalProcesses", ImportRules.violations),
    Check("a folder without a rule", "Shared/Other/A.swift", "", ImportRules.violations),
    Check("a trap", "Tests/Unit/A.swift", "let a = try" + "! b()", TextRules.traps),
    Check("an unchecked cast", "Shared/HTTP/A.swift", "let a = b as" + "! C", TextRules.traps),
    Check("waiting by the clock", "Shared/HTTP/A.swift", "try await Task.sleep(for: .seconds(1))", TextRules.sleeps),
    Check(
      "waiting by the wall clock", "Services/Billing/Service/A.swift", "let end = Date(timeIntervalSinceNow: 5)",
      TextRules.disguisedWaits),
    Check("a sleep in disguise", "Shared/HTTP/A.swift", "poll(nil, 0, 20)", TextRules.disguisedWaits),
    Check("a monitor of one's own", "Shared/HTTP/A.swift", "let a = NSCondition()", TextRules.handmadeWaits),
    Check("a semaphore", "Shared/AdClient/A.swift", "let a = DispatchSemaphore(value: 0)", TextRules.handmadeWaits),
    Check("a thread by hand", "Shared/Kafka/A.swift", "let a = Thread { [self] in run() }", TextRules.handmadeWaits),
    Check("a thread let go", "Tests/Unit/A.swift", "Thread.detachNewThread {", TextRules.handmadeWaits),
    Check("inexact money", "Shared/AdBasics/Money/A.swift", "let price: Double", TextRules.floatingPoint),
    Check("inexact money in billing", "Services/Billing/Service/A.swift", "Float(1)", TextRules.floatingPoint),
    Check("a long file", "Shared/HTTP/A.swift", String(repeating: "\n", count: 346), TextRules.lengths),
    Check("a long function", "Shared/HTTP/A.swift", longFunction, TextRules.lengths),
    Check("a function of many parameters", "Shared/HTTP/A.swift", wideFunction, TextRules.parameters),
    Check("an initialiser of many parameters", "Shared/HTTP/A.swift", wideInitialiser, TextRules.parameters),
    Check("a wide class", "Shared/HTTP/A.swift", wideClass, TextRules.parameters),
    Check("an import that is not declared", "Shared/HTTP/A.swift", "import Crypto", Manifest.own.undeclared),
    Check(
      "an import that a test does not declare", "Tests/Unit/HTTPTests/A.swift", "@testable import Crypto",
      Manifest.own.undeclared),
    Check(
      "memory in the hands of C, unmarked", "Shared/Migrations/A.swift", "import CLibpq", Manifest.own.unmarkedMemory),
    Check(
      "memory held by hand, unmarked", "Shared/Migrations/A.swift",
      "let a = UnsafeMutablePointer<Int>.allocate(capacity: 1)",
      Manifest.own.unmarkedMemory),
    Check(
      "an import without a level", "Services/A/A.swift", "internal import B\nimport C", TextRules.unlevelledImports),
    Check("an assertion that a release forgets", "Shared/HTTP/A.swift", "assert(count > 0)", TextRules.assertions),
    Check("a bare digit in SQL", "Shared/Migrations/Logic/A.sql", "WHERE (fates[p]).fate <> 4", SQLRules.bareDigits),
    Check("a bare digit in a later step", "Shared/Migrations/Tables/0009_a.sql", "state < 3", SQLRules.bareDigits),
    Check("a list of digits", "Services/A/A.swift", "let a = \"x.reason in (1, 2)\"", SQLRules.bareDigits),
    Check(
      "a bare digit in a text", "Shared/HTTP/A.swift", "let a = \"\"\"\n  WHERE c.verdict = 1\n  \"\"\"",
      SQLRules.bareDigits),
    Check("a case of digits", "Shared/A/A.sql", "CASE a.kind\n  WHEN 2 THEN 0 END", SQLRules.bareDigits),
    Check("a digit given", "Shared/A/A.sql", "new_fate := CASE WHEN a\n  THEN 1 END;", SQLRules.bareDigits),
    Check("a digit selected", "Shared/A/A.sql", "SELECT 5::smallint AS error", SQLRules.bareDigits),
    Check("a dashboard's bare digit", "deploy/a.json", "\"rawSql\": \"WHERE size = 1\"", SQLRules.bareDigits),
    Check("a test's bare digit", "Tests/Integration/A.swift", "query(\"WHERE fate = 1\")", SQLRules.bareDigits),
    Check("a document's bare digit", "docs/a.md", "SELECT app FROM a WHERE kind = 2", SQLRules.bareDigits),
    Check("an alert's bare digit", "deploy/a.yml", "expr: count(handbill_catalog_state == 2) > 0", SQLRules.bareDigits),
    Check("a long function of SQL", "Shared/Migrations/Logic/A.sql", longSQLFunction, SQLRules.longFunctions),
    Check("a long function without quotes", "Shared/Migrations/Logic/A.sql", longSQLBody, SQLRules.longFunctions),
    Check("a look-up without partition", "Services/A/A.swift", lookUp("serve_id = ANY ($1)"), PartitionRules.unnamed),
    Check(
      "a look-up by two columns", "Services/A/A.swift", lookUp("(serve_id, id_hash) IN (b)"), PartitionRules.unnamed),
    Check(
      "partition only to order by", "Services/A/A.swift", lookUp("serve_id = $1 ORDER BY partition"),
      PartitionRules.unnamed),
    Check(
      "partition only in a window", "Services/A/A.swift", lookUp("serve_id = $1 WINDOW w AS (PARTITION BY b)"),
      PartitionRules.unnamed),
    Check(
      "a bound of partition", "Services/A/A.swift", lookUp("serve_id = $1 AND $2 <= partition"), PartitionRules.unnamed),
    Check("a look-up by number", "Shared/A/A.swift", lookUp("a.batch_number = $1"), PartitionRules.unnamed),
    Check(
      "a subquery without partition", "Shared/Migrations/Logic/A.sql",
      "SELECT 1 FROM billing.charge c WHERE c.partition = 1 AND EXISTS (SELECT FROM billing.held h WHERE h.serve_id = c.serve_id)",
      PartitionRules.unnamed),
    Check(
      "a join without partition", "Shared/Operations/A.swift",
      "let a = \"\"\"\n  FROM billing.charge c\n  JOIN \\(b).decision d "
        + "ON d.serve_id = c.serve_id\n  WHERE c.partition = $1\n  \"\"\"", PartitionRules.unnamed),
    Check(
      "a join that only names partition", "Shared/A/A.sql",
      "FROM billing.charge c JOIN billing.held h ON h.serve_id = c.serve_id AND c.number > (rank() OVER (PARTITION BY h.a))",
      PartitionRules.unnamed),
    Check(
      "a join by other columns", "Shared/A/A.sql", "FROM billing.input i LEFT JOIN billing.output o USING (topic)",
      PartitionRules.unnamed),
    Check(
      "a join of what was read", "Shared/A/A.swift",
      "let a = \"FROM fates FULL JOIN accepted USING (serve_id, id_hash)\"",
      PartitionRules.unnamed),
    Check(
      "a query in a function's text", "Shared/Migrations/Logic/A.sql",
      "EXECUTE format('DELETE FROM %I.batch WHERE batch_number = $1', service);", PartitionRules.unnamed),
    Check(
      "a table that a crash empties", "Shared/Migrations/Tables/0027_a.sql", "CREATE UNLOGGED TABLE a (b int);",
      PartitionRules.unspreadable),
    Check(
      "an element of an array that a column is set to", "Shared/Migrations/Logic/A.sql",
      "UPDATE a SET b = CASE WHEN c THEN d[e.f] ELSE b END WHERE g;", PartitionRules.unspreadable),
    Check(
      "a session's name", "Shared/PipelineHost/A.swift", "let a = \"session = pg_backend_pid()\"",
      PartitionRules.sessions),
    Check(
      "a prepared look into a day's table", "Services/A/A.swift",
      "struct A: PostgresStatement {\n  static let sql = \"SELECT 1 FROM click_tracking.click_row WHERE serve_id = $1\"\n}",
      DayRules.prepared),
    Check(
      "a prepared call of what reads days' tables", "Services/A/A.swift",
      "let sql = \"JOIN LATERAL ad_selection.stored_decisions($1, $2)\"\nstruct A: PostgresStatement {}",
      DayRules.prepared),
    Check(
      "prepared counting", "Shared/PipelineHost/A.swift",
      "for text in Tables.countAgain { statements.send(prepared: text, []) }", DayRules.prepared),
    Check("an open end", "deploy/A.yaml", "# TO" + "DO later", TextRules.openEnds),
    Check("a path of one machine", "deploy/A.yaml", "folder: /wo" + "rk/a", TextRules.machinePaths),
  ]

  @Test("A rule finds what breaks it:", arguments: checks)
  func ruleFindsItsOffender(check: Check) {
    #expect(!check.violations(check.offender).isEmpty)
  }

  @Test("The rules read code, not comments or texts")
  func commentsAndTexts() {
    let text = """
      // import CLibpq, as! and Double
      /* Date()
         print( */
      let a = "as! \\" Date()" // Double
      let b = \"\"\"
        import Kafka
        \"\"\"
      func short() { done() }
      struct Row {
        init(a: A, b: B, c: C, d: D, e: E, f: F, g: G, h: H) {
          self.a = a
        }
      }
      """
    let file = SourceFile(path: "Services/Billing/Core/A.swift", text: text)
    #expect(ImportRules.violations(file).isEmpty)
    #expect(TextRules.traps(file).isEmpty)
    #expect(TextRules.floatingPoint(file).isEmpty)
    #expect(TextRules.lengths(file).isEmpty)
    #expect(TextRules.parameters(file).isEmpty, "a row may be wide")
  }

  @Test("Imports point one way, and pure code takes time, chance and I/O as parameters")
  func imports() { expectNone(ImportRules.violations) }

  @Test("What looks into tables of days is planned for the days that it looks into")
  func preparedDays() {
    let known = [
      "ad_selection.decision_row", "ad_selection.decision_pack", "impression_tracking.impression_row",
      "impression_tracking.delivery_row", "impression_tracking.delivery_pack", "impression_tracking.failure",
      "click_tracking.impression_pack",
      "click_tracking.click_row", "click_tracking.stopped_action", "click_tracking.conversion", "billing.charge_row",
      "billing.charge_pack", "ad_selection.decisions", "catalog.action_days", "billing.charge",
    ]
    #expect(DayRules.relations.isSuperset(of: known), "what reads the tables of days was not found")
    expectNone(DayRules.prepared)
  }

  @Test("Nothing traps and nothing is taken on trust")
  func traps() { expectNone(TextRules.traps) }

  @Test("Nothing in a product waits by the clock")
  func sleeps() { expectNone(TextRules.sleeps) }

  @Test("What waits in a product waits by the monotonic clock, for something that tells when it is ready")
  func disguisedWaits() { expectNone(TextRules.disguisedWaits) }

  @Test("Threads, locks and waiting by hand are Shared/Threads' alone")
  func handmadeWaits() { expectNone(TextRules.handmadeWaits) }

  @Test("Each import of a product says at which level it is used")
  func unlevelledImports() { expectNone(TextRules.unlevelledImports) }

  @Test("What may never be is looked for in a release too")
  func assertions() { expectNone(TextRules.assertions) }

  @Test("Whoever imports C or holds memory by hand marks every use of memory that Swift does not watch")
  func unmarkedMemory() {
    #expect(Manifest.own.targets.count { $0.isStrict } >= 9)
    expectNone(Manifest.own.unmarkedMemory)
  }

  @Test("No two types of the product have one name")
  func typeNames() {
    let doubles = TypeNames.doubles(in: SourceTree.swiftFiles)
    #expect(doubles.isEmpty, "\(doubles.joined(separator: "\n"))")
  }

  @Test("A type name that stands twice is found, in whatever module and with whatever access")
  func typeNamesFindTheirOffender() {
    let offenders = [
      SourceFile(path: "Shared/HTTP/A.swift", text: "package final class Answer {\n  struct Inner {}\n}"),
      SourceFile(path: "Services/Billing/Core/A.swift", text: "enum Answer: Int { case no }\nstruct Own {}"),
      SourceFile(path: "Services/Billing/Core/B.swift", text: "extension Own {}\nstruct Other { struct Inner {} }"),
      SourceFile(path: "Tests/Unit/A.swift", text: "struct Own {}"),
    ]
    #expect(TypeNames.doubles(in: offenders) == ["Answer: Services/Billing/Core/A.swift, Shared/HTTP/A.swift"])
  }

  @Test("No folder of the product holds one file and nothing else")
  func folders() {
    let lonely = TextRules.lonelyFiles(SourceTree.swiftFiles.map(\.path))
    #expect(lonely.isEmpty, "\(lonely)")
  }

  @Test("A file that is alone in its folder is found; one beside a folder is not alone")
  func foldersFindTheirOffender() {
    let paths = [
      "Shared/HTTP/A.swift", "Shared/HTTP/B.swift", "Shared/HTTP/Alone/C.swift", "Shared/Kafka/A.swift",
      "Shared/Kafka/Log/A.swift", "Shared/Kafka/Log/B.swift", "Tests/Unit/ATests/A.swift",
    ]
    #expect(TextRules.lonelyFiles(paths) == ["Shared/HTTP/Alone/C.swift"])
  }

  @Test("No floating point touches money")
  func money() { expectNone(TextRules.floatingPoint) }

  @Test("Files and functions have a readable length")
  func lengths() { expectNone(TextRules.lengths) }

  @Test("Functions of the database have a readable length, too")
  func sqlLengths() {
    #expect(SourceTree.files.reduce(0) { $0 + SQLRules.functions(of: $1).count } > 80, "the functions were not found")
    let found = SourceTree.files.flatMap(SQLRules.longFunctions)
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
    let short = SourceFile(
      path: "Shared/Migrations/Logic/A.sql",
      text: Self.longSQLFunction.replacing("BEGIN\n  PERFORM step();\n", with: "BEGIN\n")
        + "\nCREATE OR REPLACE VIEW a AS\n" + String(repeating: "SELECT\n", count: 60) + ";\n")
    #expect(SQLRules.functions(of: short).map(\.count) == [56] && SQLRules.longFunctions(short).isEmpty)
    let landed = SourceFile(path: "Shared/Migrations/Tables/0009_a.sql", text: Self.longSQLFunction)
    #expect(SQLRules.longFunctions(landed).isEmpty, "what has landed stays as it is")
  }

  @Test("Functions have at most seven parameters, and only rows are made of more")
  func parameters() { expectNone(TextRules.parameters) }

  @Test("Every target declares the modules that its files import")
  func declarations() {
    #expect(Manifest.own.targets.count > 40, "the manifest was not understood")
    expectNone(Manifest.own.undeclared)
    let homeless = SourceTree.swiftFiles.map(\.path).filter { Manifest.own.target(of: $0) == nil && $0.contains("/") }
    #expect(homeless.allSatisfy { $0.hasPrefix("Plugins/") }, "\(homeless)")
  }

  @Test("Nothing is left open, and no file names a path of one machine")
  func leftovers() {
    for file in SourceTree.files {
      #expect((TextRules.openEnds(file) + TextRules.machinePaths(file)).isEmpty)
    }
  }

  @Test("Numbers with public meaning stand in SQL by their words")
  func vocabularies() {
    let found = SourceTree.files.flatMap(SQLRules.bareDigits)
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
    let code = SourceFile(path: "Shared/A/A.swift", text: "var size = 0\n// fate = 2\nif state == 1 { log(\"no\") }")
    #expect(SQLRules.bareDigits(code).isEmpty, "what is no SQL may have digits")
  }

  @Test("Keys name the partition: look-ups and joins compare it, and nothing is written that cannot be spread by it")
  func partitions() {
    #expect(SourceTree.files.reduce(0) { $0 + PartitionRules.queries(in: $1).count } > 1_000, "the SQL was not found")
    for rule in [PartitionRules.unnamed, PartitionRules.unspreadable, PartitionRules.sessions] {
      let found = SourceTree.files.flatMap(rule)
      #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
    }
    let named = SourceFile(
      path: "Shared/A/A.sql",
      text: """
        SELECT 1 FROM billing.charge c JOIN billing.terms t ON t.name = c.terms
          JOIN billing.held h ON h.serve_id = c.serve_id AND h.partition = c.partition;
        SELECT 1 FROM billing.charge WHERE serve_id >= $1 AND serve_id < $2;
        SELECT 1 FROM billing.charge c WHERE serve_id = $1 AND $2 = c.partition;
        SELECT 1 FROM billing.charge c, a WHERE (a.number, a.id) = (c.partition, c.serve_id) AND c.serve_id = $1;
        SELECT 1 FROM billing.charge WHERE (partition, serve_id) IN (SELECT 1) AND serve_id = ANY ($1);
        SELECT 1 FROM billing.charge WHERE partition = ANY ($1) AND serve_id IN (b, c);
        SELECT 1 FROM billing.charge JOIN billing.held USING (partition, serve_id);
        UPDATE a SET b = ARRAY[c], d = e::int[] WHERE f;
        """)
    #expect(PartitionRules.unnamed(named).isEmpty && PartitionRules.unspreadable(named).isEmpty)
  }

  private func expectNone(_ violations: (SourceFile) -> [String]) {
    #expect(SourceTree.swiftFiles.count > 20, "the sources were not found")
    let found = SourceTree.swiftFiles.flatMap(violations)
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
  }
}
