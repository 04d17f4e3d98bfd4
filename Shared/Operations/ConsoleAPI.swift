package import JSON

/// Where the console tells its figures as JSON. The version stands in the path: within one, addresses and fields keep
/// their names and meanings, and only more may come.
package enum ConsoleAPI {
  package static let base = "/api/v1"
  package static let reports = base + "/reports"
  package static let anomalies = base + "/anomalies"
  package static let conversions = base + "/conversions"
  package static let explain = base + "/explain"
  package static let reconciliation = base + "/reconciliation"
  package static let catalog = base + "/catalog"
}

/// A list for people and tools, which may be cut: it says how many there are.
package struct CutList<Item: Sendable>: Sendable {
  package var items: [Item]
  /// How many there are without the limit.
  package var total: Int64

  package init(_ items: [Item], total: Int64) {
    self.items = items
    self.total = total
  }

  package var isCut: Bool { total > items.count }

  /// `{"isCut": …, "rowsTotal": …, "rows": [...]}`.
  package func json(_ row: (Item) -> JSONValue) -> JSONValue {
    ["isCut": .flag(isCut), "rowsTotal": .integer(total), "rows": .list(items.map(row))]
  }

  /// Which of how many these are, such as `The latest 100 of 3,120 records; --limit takes more, up to 10,000.`; nil where
  /// nothing is left out.
  package func cutNote(_ noun: String, limit: Int) -> String? {
    guard isCut else { return nil }
    return "The latest \(TextTable.grouped(Int64(items.count))) of \(TextTable.grouped(total)) \(noun); "
      + "--limit takes more, up to \(TextTable.grouped(Int64(limit)))."
  }
}
