import AdCore
import Foundation
import Testing

@Suite("The page of rejection reasons")
struct RejectionPageTests {
  private static let path = Program.root + "/docs/bad-input.md"
  private static let mark = "<!-- Made of the program's vocabulary: UPDATE_DOCUMENTS=1 writes it. -->\n"

  private static var table: String {
    let rows = RejectionReason.allCases.map {
      "| \($0.rawValue) | `\($0.name)` | \($0.meaning) | \($0.remedy) |"
    }
    return "\n"
      + (["| number | reason | what it says | what to do |", "|---|---|---|---|"] + rows).joined(separator: "\n")
      + "\n"
  }

  @Test("docs/bad-input.md has every reason with what to do about it (UPDATE_DOCUMENTS=1 writes them)")
  func page() throws {
    let text = try String(contentsOfFile: Self.path, encoding: .utf8)
    let start = try #require(text.range(of: Self.mark)).upperBound
    let whole = text[..<start] + Self.table
    if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] == "1" {
      try whole.write(toFile: Self.path, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOfFile: Self.path, encoding: .utf8) == whole)
  }
}
