/// Tables cut by day, of which there are hundreds: what looks into them is planned for its parameters each time, which spares the
/// other days. Of a prepared statement the server tries one plan for all of them at its sixth use, and locks them all.
enum DayRules {
  /// The tables that a day's ids are in, with the views and functions that read them.
  private static let relations: Set<String> = {
    let steps = SourceTree.files.filter { $0.path.hasPrefix("Shared/Migrations/Tables/") }
    let tables = steps.flatMap { step in
      step.lines.joined(separator: "\n").split(separator: "CREATE TABLE ").compactMap { text -> String? in
        guard let end = text.firstRange(of: "\n)"),
          text[end.upperBound...].prefixMatch(of: /\ PARTITION BY RANGE \((?:serve_id|request_id)\)/) != nil
        else { return nil }
        return String(text.prefix { $0 != " " })
      }
    }
    let readers = [
      "ad_selection.decisions", "ad_selection.stored_decisions", "ad_selection.packed_decisions",
      "ad_selection.packed_around", "ad_selection.requests_since", "ad_selection.outcomes", "billing.stored_charges",
      "billing.charges", "billing.charge_sums",
    ]
    // Some were named anew since.
    return Set(tables + tables.map { "\($0)_row" } + readers)
  }()

  /// Statements that a session would prepare.
  static func prepared(_ file: SourceFile) -> [String] {
    guard file.path.hasPrefix("Services/") || file.path.hasPrefix("Shared/") else { return [] }
    let text = file.lines.joined(separator: "\n")
    return text.split(separator: ": PostgresStatement").dropFirst().compactMap { statement in
      guard statement.firstRange(of: "static let isPrepared = false") == nil else { return nil }
      let words = statement.matches(of: /\b(?:FROM|JOIN|UPDATE)\s+([a-z_]+\.[a-z_]+)/).map { String($0.output.1) }
      let isOfDays = statement.contains("SequenceBatches.") || words.contains(where: relations.contains)
      return isOfDays ? "\(file.path): \(statement.prefix(60).split(separator: "\n").first ?? "")" : nil
    }
  }

  /// How many relations the rule knows.
  static var count: Int { relations.count }
}
