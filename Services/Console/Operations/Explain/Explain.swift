import AdCore
import Postgres
import Runtime

/// Everything known of one served ad, from its request to the ledger, in one snapshot (B5).
package struct ServeExplanation: Sendable {
  /// One step of the ad's way, with its rows as they are stored; money in units, numbers beside their meaning.
  package struct Section: Sendable {
    package var name: String
    package var title: String
    package var rows: [JSONValue]
  }

  package var serveID: ServeID
  package var sections: [Section]

  /// Whether anything is known of it.
  package var isKnown: Bool { sections.contains { !$0.rows.isEmpty } }

  package var json: JSONValue {
    .object(
      [
        JSONValue.Member("serveId", .text(serveID.description)),
        JSONValue.Member("servedAt", .text(serveID.timestamp.utcText)),
      ] + sections.map { JSONValue.Member($0.name, .list($0.rows)) })
  }

  /// For a terminal.
  package var text: String {
    guard isKnown else { return "Nothing is known of \(serveID).\n" }
    let head = "Serve \(serveID), served at \(serveID.timestamp.utcText)\n"
    return head
      + sections.map { section in
        guard !section.rows.isEmpty else { return "\n\(section.title): nothing\n" }
        return "\n\(section.title)\n"
          + section.rows.map { row in
            guard case .object(let members) = row else { return "" }
            let width = members.map(\.name.count).max() ?? 0
            return members.map { member in
              let room = String(repeating: " ", count: width - member.name.count)
              return "  \(member.name)\(room)  \(ServeExplanation.plain(member.value))\n"
            }.joined()
          }.joined(separator: "\n")
      }.joined()
  }

  private static func plain(_ value: JSONValue) -> String {
    switch value {
    case .null: "–"
    case .text(let text): text
    default: value.compactText
    }
  }
}

/// Reads explanations. Blocks the caller.
package struct Explain: Sendable {
  /// Columns that hold nanos: shown in units of the currency.
  private static let moneyColumns: Set = [
    "impression_price", "click_price", "price", "amount", "developer_amount", "network_amount", "reserved", "debit",
    "credit", "charged", "granted", "used", "campaign_free",
  ]
  /// The first columns of a row, in this order; the others follow by their names.
  private static let firstColumns = [
    "serve_id", "service", "kind", "reason", "verdict", "fate", "account", "event_time", "arrival", "app", "placement",
    "campaign", "ad", "price", "amount", "developer_amount", "network_amount", "debit", "credit", "currency",
  ]

  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// Everything known of one served ad.
  package func serve(_ id: ServeID) throws(PostgresError) -> ServeExplanation {
    try pool.snapshot { connection throws(PostgresError) in
      var sections: [ServeExplanation.Section] = []
      for section in ServeSections.all {
        var rows: [JSONValue] = []
        for row in try connection.query(section.sql, [id.postgres]) {
          let text: PostgresJSON = try row.decode(0)
          do throws(JSONValue.SyntaxError) {
            rows.append(Explain.readable(try JSONValue.parse(text.text.utf8), section))
          } catch { throw .undecodable(column: 0, error.description) }
        }
        sections.append(ServeExplanation.Section(name: section.name, title: section.title, rows: rows))
      }
      return ServeExplanation(serveID: id, sections: sections)
    }
  }

  private static func readable(_ row: JSONValue, _ section: ServeSections.Section) -> JSONValue {
    guard case .object(let members) = row else { return row }
    let sorted = members.sorted { rank($0.name) < rank($1.name) }
    return .object(
      sorted.map { member in
        if moneyColumns.contains(member.name), let nanos = nanos(member.value) {
          return JSONValue.Member(member.name, .text(MoneyText.format(nanos)))
        }
        if let number = member.value.integerValue, let word = section.names[member.name]?(number) {
          return JSONValue.Member(member.name, .text("\(number): \(word)"))
        }
        return member
      })
  }

  private static func nanos(_ value: JSONValue) -> Int128? {
    value.integerValue.map { Int128($0) } ?? value.textValue.flatMap { Int128($0) }
  }

  private static func rank(_ name: String) -> (Int, String) {
    (firstColumns.firstIndex(of: name) ?? firstColumns.count, name)
  }
}
