import AdCore

/// A table for a terminal: numbers to the right, everything else to the left.
package struct TextTable: Sendable {
  package var header: [String]
  package var rows: [[String]] = []
  /// The columns that are set to the right.
  package var rightAligned: Set<Int>

  package init(_ header: [String], rightAligned: Set<Int> = []) {
    self.header = header
    self.rightAligned = rightAligned
  }

  /// The lines, each with its line end.
  package var text: String {
    let widths = TextTable.widths(of: [header] + rows)
    let rule = widths.map { String(repeating: "─", count: $0) }
    return ([header, rule] + rows).map { line($0, widths) + "\n" }.joined()
  }

  /// Rows without a header; no line end behind the last.
  package static func text(_ rows: [[String]]) -> String {
    let widths = widths(of: rows)
    return rows.map { TextTable([]).line($0, widths) }.joined(separator: "\n")
  }

  private static func widths(of lines: [[String]]) -> [Int] {
    (0..<(lines.map(\.count).max() ?? 0)).map { column in
      lines.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
    }
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    var line = ""
    for (column, width) in widths.enumerated() {
      let cell = cells.indices.contains(column) ? cells[column] : ""
      let room = String(repeating: " ", count: width - cell.count)
      line += (column > 0 ? "  " : "") + (rightAligned.contains(column) ? room + cell : cell + room)
    }
    while line.last == " " { line.removeLast() }
    return line
  }

  /// A number with commas between its thousands.
  package static func grouped(_ number: Int64) -> String {
    var digits = Array(String(number.magnitude))
    var index = digits.count - 3
    while index > 0 {
      digits.insert(",", at: index)
      index -= 3
    }
    return (number < 0 ? "-" : "") + String(digits)
  }
}

extension Report {
  /// For a terminal. A ratio that is absent shows as a dash.
  package var text: String {
    let names = query.grouping.map(\.rawValue)
    let figures = [
      "requests", "fills", "impressions", "fill rate", "clicks", "CTR", "gross", "developer", "network", "eCPM",
      "gross eCPM", "errors", "not billed",
    ]
    var table = TextTable(
      names + figures, rightAligned: Set(names.count..<(names.count + figures.count - 2)))
    for row in rows { table.rows += Report.lines(row.values, row.figures) }
    table.rows += Report.lines(names.isEmpty ? [] : ["total"] + names.dropFirst().map { _ in "" }, total)
    let until = completeUntil.map { "\($0.figures) \($0.moment?.utcText ?? "not yet known")" }
    return (query.isTest ? "Test traffic: never billed.\n" : "") + table.text
      + (isCut ? "Cut after \(rows.count) rows.\n" : "")
      + "Complete up to: \(until.isEmpty ? "not yet known" : until.joined(separator: ", ")).\n"
  }

  /// One line, and another for each further currency.
  private static func lines(_ values: [String], _ figures: ReportFigures) -> [[String]] {
    let counts =
      values + [
        TextTable.grouped(figures.requests), TextTable.grouped(figures.fills), TextTable.grouped(figures.impressions),
        figures.fillRate.map { "\($0) %" } ?? "–", TextTable.grouped(figures.clicks),
        figures.clickThroughRate.map { "\($0) %" } ?? "–",
      ]
    let errors = figures.errors.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " ")
    let invalid = figures.invalidImpressions.merging(figures.invalidClicks, uniquingKeysWith: +)
      .sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " ")
    guard !figures.revenue.isEmpty else { return [counts + Array(repeating: "–", count: 5) + [errors, invalid]] }
    return figures.revenue.enumerated().map { index, money in
      let amounts = [money.gross, money.developer, money.network].map { "\(money.currency) \(MoneyText.format($0))" }
      let rates = [figures.ecpm(money)?.description ?? "–", figures.grossECPM(money)?.description ?? "–"]
      return (index == 0 ? counts : Array(repeating: "", count: counts.count)) + amounts + rates
        + (index == 0 ? [errors, invalid] : ["", ""])
    }
  }
}
