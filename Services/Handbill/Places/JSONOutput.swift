import Foundation
import Runtime

/// Results as JSON on standard output, for programs.
enum JSONOutput {
  /// Writes `value` with sorted keys, so that equal results are equal text.
  static func print(_ value: some Encodable) throws {
    Terminal.print(try text(value))
  }

  static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}

/// Rows in columns as wide as their longest entry.
enum TextTable {
  static func text(_ rows: [[String]]) -> String {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
    return rows.map { row in
      row.enumerated().map { column, cell in
        let isLast = column == row.count - 1
        return isLast ? cell : cell + String(repeating: " ", count: widths[column] - cell.count + 2)
      }.joined()
    }.joined(separator: "\n")
  }
}
