package import AdCore
package import JSON
package import Postgres

/// Installs, purchases and the like of one day, campaign, ad and app that came of clicks (M8).
package struct ConversionRow: Hashable, Sendable {
  /// As in `2026-07-01`.
  package var day: String
  package var advertiser: String
  package var campaign: String
  package var ad: String
  /// That showed the ad.
  package var app: String
  /// The advertised app, which told it.
  package var toldBy: String
  /// The name of a ``ConversionKind``.
  package var kind: String
  package var conversions: Int64
  /// Of the value; nil where none was told.
  package var currency: String?
  /// What they were worth to the advertiser, as he tells it, in nanos.
  package var value: Int128

  package var json: JSONValue {
    [
      "day": .text(day), "advertiser": .text(advertiser), "campaign": .text(campaign), "ad": .text(ad),
      "app": .text(app), "toldBy": .text(toldBy), "kind": .text(kind), "conversions": .integer(conversions),
      "currency": .optional(currency), "value": .optional(currency.map { _ in MoneyText.format(value) }),
    ]
  }

  /// A table for a terminal.
  package static func table(_ rows: CutList<ConversionRow>) -> String {
    guard !rows.items.isEmpty else { return "No conversions.\n" }
    var table = TextTable(
      ["day", "campaign", "ad", "app", "told by", "what", "how many", "worth"], rightAligned: [6, 7])
    table.rows = rows.items.map { row in
      [
        row.day, row.campaign, row.ad, row.app, row.toldBy, row.kind, TextTable.grouped(row.conversions),
        row.currency.map { "\($0) \(MoneyText.format(row.value))" } ?? "–",
      ]
    }
    return table.text + (rows.cutNote("lines", limit: ReportQuery.rowsLimit).map { $0 + "\n" } ?? "")
  }
}

/// Reads what came of clicks. Blocks the caller.
package struct Conversions: Sendable {
  /// What chooses among them, beside the time.
  package static let dimensions: [ReportDimension] = [.app, .campaign, .ad]

  private let pool: PostgresPool

  /// So many days are read where no first one is asked for.
  package static let daysDefault: Int64 = 31

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// Those of a report's app, campaign, ad and time (whole days), the latest first. Without a first day it is
  /// ``daysDefault`` before the end, or before `now`.
  package func list(_ query: ReportQuery, now: Timestamp) throws(PostgresError) -> CutList<ConversionRow> {
    let earliest = (query.until ?? now).advanced(byMilliseconds: -Self.daysDefault * Windows.dayMilliseconds)
    return try pool.snapshot { connection throws(PostgresError) in
      let rows = try connection.run(ReadConversions(query: query, from: query.from ?? earliest))
      return CutList(rows.map(\.row), total: rows.first?.total ?? 0)
    }
  }
}
