/// Tables cut by day, of which there are hundreds: what looks into them is planned for its parameters each time, which spares the
/// other days. Of a prepared statement the server tries one plan for all of them at its sixth use, and locks them all.
enum DayRules {
  /// The tables that are cut by the days of ids.
  static let tables: Set<String> = {
    let names = files(under: "Shared/Migrations/Tables/").flatMap { step in
      step.split(separator: "CREATE TABLE ").dropFirst().compactMap { text -> String? in
        guard let end = text.firstRange(of: "\n)"),
          text[end.upperBound...].prefixMatch(of: /\ PARTITION BY RANGE \((?:serve_id|request_id)\)/) != nil
        else { return nil }
        return String(text.prefix { $0 != " " })
      }
    }
    // Some were named anew since.
    return Set(names + names.map { "\($0)_row" })
  }()

  /// They, and the views and functions that read them, be it through others.
  static let relations: Set<String> = {
    let definitions = files(under: "Shared/Migrations/Logic/").flatMap { logic in
      logic.split(separator: #/CREATE OR REPLACE (?:FUNCTION|VIEW) /#).dropFirst().map { text in
        (name: String(text.prefix { $0.isLetter || $0 == "_" || $0 == "." }), read: read(in: text))
      }
    }
    var known = tables
    while let more = definitions.first(where: { !known.contains($0.name) && !$0.read.isDisjoint(with: known) }) {
      known.insert(more.name)
    }
    return known
  }()

  /// Statements that a session would prepare.
  static func prepared(_ file: SourceFile) -> [String] {
    guard file.path.hasPrefix("Services/") || file.path.hasPrefix("Shared/") else { return [] }
    let text = file.lines.joined(separator: "\n")
    let parts = text.split(separator: ": PostgresStatement")
    // Those that count rows again come as texts.
    let texts = text.contains("countAgain") ? text.matches(of: /send\(prepared: (?!sql\.).*/).map(\.output) : []
    return texts.map { "\(file.path): \($0)" }
      + parts.indices.dropFirst().compactMap { index in
        // What stands before the first of a file is its own.
        let statement = index == 1 ? parts[0] + parts[1] : parts[index]
        guard statement.firstRange(of: "static let isPrepared = false") == nil else { return nil }
        let isOfDays =
          statement.contains("SequenceBatches.")
          || statement.matches(of: /\b[a-z_]+\.[a-z_]+/).contains { relations.contains(String($0.output)) }
        return isOfDays ? "\(file.path): \(parts[index].prefix(60).split(separator: "\n").first ?? "")" : nil
      }
  }

  /// What a definition reads, whatever stands before the name.
  private static func read(in text: Substring) -> Set<String> {
    let written = Set(text.matches(of: /INSERT INTO ([a-z_]+\.[a-z_]+)/).map { String($0.output.1) })
    return Set(text.matches(of: /\b[a-z_]+\.[a-z_]+/).map { String($0.output) }).subtracting(written)
  }

  private static func files(under folder: String) -> [String] {
    SourceTree.files.filter { $0.path.hasPrefix(folder) }.map { $0.lines.joined(separator: "\n") }
  }
}
