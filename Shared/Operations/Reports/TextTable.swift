internal import AdCore

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
