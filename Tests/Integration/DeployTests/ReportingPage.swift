import Foundation
import Postgres

/// A column of a view, as the database has it and as the page must say it.
struct ReportedColumn: Hashable, Sendable {
  let name: String
  let type: String
  let meaning: String
}

/// `docs/reporting.md`: what is written by hand, and the tables of columns, which are the database's own comments.
struct ReportingPage {
  struct Section {
    /// In the order of the page.
    var views: [String] = []
    /// Columns with the views that have them, in the order of the page.
    var columns: [(column: ReportedColumn, views: [String])] = []
    /// Statements of SQL.
    var samples: [String] = []
  }

  static let path = "docs/reporting.md"

  private(set) var sections: [Section] = []

  /// Reads the page. A section begins with its heading; a line that begins with `Views:` names its views.
  init(_ text: String) {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
    while let line = lines.popFirst() {
      if line.hasPrefix("## ") || sections.isEmpty { sections.append(Section()) }
      let last = sections.count - 1
      if line.hasPrefix("Views: ") {
        var names = line
        while lines.first?.isEmpty == false, let more = lines.popFirst() { names += " " + more }
        sections[last].views = ReportingPage.quoted(names)
      } else if line.hasPrefix("| `") {
        let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        let names = ReportingPage.quoted(cells[0][...])
        guard cells.count == 3, let name = names.first else { continue }
        let column = ReportedColumn(name: name, type: cells[1], meaning: cells[2])
        sections[last].columns.append((column, names.count > 1 ? Array(names.dropFirst()) : sections[last].views))
      } else if line == "```sql" {
        var sample = ""
        while let more = lines.popFirst(), more != "```" { sample += more + "\n" }
        sections[last].samples += sample.split(separator: ";\n").map(String.init)
      }
    }
  }

  /// What the page says of each view.
  var views: [String: [ReportedColumn]] {
    var views: [String: [ReportedColumn]] = [:]
    for section in sections {
      for view in section.views {
        views[view, default: []] += section.columns.filter { $0.views.contains(view) }.map(\.column)
      }
    }
    return views
  }

  /// The same page with the tables of its sections made anew: each behind the line that names the views.
  static func text(_ text: String, columns: [String: [ReportedColumn]]) -> String {
    var output: [String] = []
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)[...]
    while let line = lines.popFirst() {
      // The old table and the empty line behind it.
      guard !line.hasPrefix("|") else {
        if lines.first?.isEmpty == true { lines.removeFirst() }
        continue
      }
      output.append(line)
      guard line.hasPrefix("Views: ") else { continue }
      var names = line[...]
      while let more = lines.first, !more.isEmpty {
        names += " " + more
        output.append(lines.removeFirst())
      }
      output += [""] + table(quoted(names), columns)
    }
    return output.joined(separator: "\n")
  }

  private static func table(_ views: [String], _ columns: [String: [ReportedColumn]]) -> [String] {
    var rows = ["| column | type | meaning |", "|---|---|---|"]
    var seen: Set<ReportedColumn> = []
    for column in views.flatMap({ columns[$0] ?? [] }) where seen.insert(column).inserted {
      let holders = views.filter { columns[$0]?.contains(column) == true }
      let place = holders == views ? "" : " of " + holders.map { "`\($0)`" }.joined(separator: ", ")
      rows.append("| `\(column.name)`\(place) | \(column.type) | \(column.meaning) |")
    }
    return rows
  }

  private static func quoted(_ text: Substring) -> [String] {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
      .map { String($0.element) }
  }

  /// The views of the schema with their columns in order, from the database's catalogue.
  static func columns(_ connection: PostgresConnection) throws -> [String: [ReportedColumn]] {
    let rows = try connection.query(
      """
      SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod),
        coalesce(col_description(c.oid, a.attnum), '')
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = 'reporting'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'f', 'p') AND a.attnum > 0
        AND NOT a.attisdropped
      ORDER BY c.relname, a.attnum
      """)
    var columns: [String: [ReportedColumn]] = [:]
    for row in rows {
      let view: String = try row.decode(0)
      columns[view, default: []].append(
        ReportedColumn(name: try row.decode(1), type: try row.decode(2), meaning: try row.decode(3)))
    }
    return columns
  }
}
