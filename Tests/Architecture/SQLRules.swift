import Foundation

/// Numbers with public meaning are written by their words (Shared/AdBasics/Vocabularies), in SQL and PromQL too: there as
/// `vocabulary.charge_fate('charged')`, in the texts of Swift as `\(ChargeFate.charged.number)`.
enum SQLRules {
  /// What columns with such numbers are called.
  private static let column =
    "(?<!distinct )\\b(?:\\w+_)?(?:reasons?|verdict|fate|state|sizes?|device|outcome|error|kind|action)\\b"
  private static let digits = [
    // fate = 1, (fates[position]).fate <> 4, reason IN (1, 2), state < 3, kind BETWEEN 1 AND 6
    "\(column)\\)?\\s*(?:=|<>|!=|<=|>=|<|>|(?:not\\s+)?in\\s*\\(|between\\b)\\s*'?-?\\d",
    // CASE kind WHEN 1
    "\\bcase\\s+(?:[\\w.\\[\\]()]*\\.)?\(column)\\)?\\s+when\\s+-?\\d",
    // new_fate := CASE … THEN 1
    "\(column)\\s*:=\\s*(?:-?\\d|case\\b[^;]*\\b(?:then|else)\\s+-?\\d)",
    // 2::smallint AS kind
    "\\b\\d+(?:::smallint)?\\s+as\\s+\(column)",
  ]
  private static let pattern = try? NSRegularExpression(
    pattern: digits.joined(separator: "|"), options: .caseInsensitive)
  /// Where SQL stands that runs, or that people copy. Unit tests have none, and simulated worlds have numbers of their own
  /// on purpose: their auditor shares nothing with what it judges.
  private static let folders = [
    "Shared/", "Services/", "deploy/", "docs/", "examples/", "README.md", "Tests/Integration/", "Tests/Fault/",
    "Tests/Benchmarks/", "Tests/Support/",
  ]
  /// Steps of the tables' history that had landed before the rule: they are never edited.
  private static let landedSteps = 8

  static func bareDigits(_ file: SourceFile) -> [String] {
    guard folders.contains(where: { file.path.hasPrefix($0) }), let pattern, !isLanded(file.path),
      let sql = sql(of: file)
    else { return [] }
    let text = sql as NSString
    return pattern.matches(in: sql, range: NSRange(location: 0, length: text.length)).map { match in
      let line = text.substring(to: match.range.location).count { $0 == "\n" } + 1
      return "\(file.path):\(line): \(text.substring(with: match.range))"
    }
  }

  /// Functions that have more lines than one of Swift may have.
  static func longFunctions(_ file: SourceFile) -> [String] {
    functions(of: file).filter { $0.count > TextRules.longestFunctionLines }.map {
      "\(file.path):\($0.lowerBound + 1): \($0.count) lines"
    }
  }

  /// The lines of each function that every run of the migrations makes again: from its CREATE to the end of its body, which
  /// stands between dollar quotes, or between BEGIN ATOMIC and END.
  static func functions(of file: SourceFile) -> [Range<Int>] {
    guard file.path.hasPrefix("Shared/Migrations/Logic/"), file.path.hasSuffix(".sql") else { return [] }
    let starts = file.lines.indices.filter {
      file.lines[$0].firstMatch(of: #/^\s*CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE) /#) != nil
    }
    return starts.map { start in
      let end = file.lines[start...].firstIndex { $0.hasSuffix("$;") || $0 == "END;" }
      return start..<(end.map { $0 + 1 } ?? file.lines.endIndex)
    }
  }

  private static func isLanded(_ path: String) -> Bool {
    guard path.hasPrefix("Shared/Migrations/Tables/") else { return false }
    let step = path.split(separator: "/").last?.prefix(4) ?? ""
    return Int(step).map { $0 <= landedSteps } ?? false
  }

  /// Where SQL can stand in a file, line by line, without comments; nil where there is none.
  private static func sql(of file: SourceFile) -> String? {
    let kind = file.path.split(separator: ".").last
    switch kind {
    case "sql": return file.lines.map { $0.split(separator: "--", maxSplits: 1).first ?? "" }.joined(separator: "\n")
    case "json", "md", "py": return file.lines.joined(separator: "\n")
    case "yml":
      // Alerts: PromQL, which compares by ==.
      return file.lines.map { ($0.split(separator: "#", maxSplits: 1).first ?? "").replacing("==", with: "=") }
        .joined(separator: "\n")
    case "swift":
      // A line of a text, or one that holds a text.
      return zip(file.lines, file.codeLines).map { line, code in
        line == code || line.drop { $0 == " " }.hasPrefix("//") ? "" : line
      }.joined(separator: "\n")
    default: return nil
    }
  }
}
