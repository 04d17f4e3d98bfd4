import Foundation
import Testing

/// The tests that documents name as `Suite.function`.
enum NamedTests {
  /// All tests of a file, by each of its suites: which of them a function is in does not matter.
  static func tests(_ file: SourceFile) -> Set<String> {
    guard file.path.hasPrefix("Tests/"), file.path.hasSuffix(".swift") else { return [] }
    // Most lines can be passed over without a regular expression.
    let suites = file.lines.filter { $0.contains("Tests") }.compactMap { line in
      line.firstMatch(of: /\b(?:struct|class|enum|actor|extension) (\w+Tests)\b/).map { String($0.output.1) }
    }
    var functions: [String] = []
    var isTest = false
    for line in file.lines {
      if line.contains("@Test") { isTest = true }
      guard isTest, line.contains("func "), let match = line.firstMatch(of: /\bfunc (\w+)\(/) else { continue }
      functions.append(String(match.output.1))
      isTest = false
    }
    return Set(suites.flatMap { suite in functions.map { "\(suite).\($0)" } })
  }

  /// What a text names.
  static func named(_ text: String) -> [String] {
    text.matches(of: /`(\w+Tests\.\w+)`/).map { String($0.output.1) }
  }

  /// What is wrong with the lines of a page's tables that have a column "test, or reason".
  static func mistakes(_ page: SourceFile, tests: Set<String>) -> [String] {
    page.lines.compactMap { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard line.hasPrefix("| "), cells.count == 4, let last = cells.last, last != "test, or reason" else { return nil }
      let named = named(last)
      let missing = named.filter { !tests.contains($0) }
      if !missing.isEmpty { return "\(cells[0]): there is no test \(missing.joined(separator: ", "))" }
      if named.isEmpty, !last.hasPrefix("Reason: ") { return "\(cells[0]): neither a test nor a reason" }
      return ["prevented", "found", "yours"].contains(cells[1]) ? nil : "\(cells[0]): \(cells[1])"
    }
  }
}

@Suite("Threat model") struct ThreatModelTests {
  private static let page = SourceTree.files.first { $0.path == "docs/threat-model.md" }
  private static let tests = Set(SourceTree.swiftFiles.flatMap { NamedTests.tests($0) })

  @Test("each line of docs/threat-model.md names tests that there are, or a reason")
  func lines() throws {
    let page = try #require(Self.page)
    #expect(NamedTests.mistakes(page, tests: Self.tests) == [])
    #expect(NamedTests.named(page.lines.joined(separator: "\n")).count > 50)
    #expect(Self.tests.contains("ThreatModelTests.lines"))
  }

  @Test("a test that there is not, a line without one or a reason, and a word that says nothing are found")
  func offenders() {
    func mistakes(_ line: String) -> [String] {
      NamedTests.mistakes(SourceFile(path: "docs/a.md", text: line), tests: ["ATests.a"])
    }
    #expect(mistakes("| a | prevented | b | `ATests.a`, and more |").isEmpty)
    #expect(mistakes("| a | yours | b | Reason: c |").isEmpty)
    #expect(!mistakes("| a | prevented | b | `ATests.a`, `ATests.b` |").isEmpty)
    #expect(!mistakes("| a | prevented | b | somewhere |").isEmpty)
    #expect(!mistakes("| a | hoped | b | `ATests.a` |").isEmpty)
  }
}
