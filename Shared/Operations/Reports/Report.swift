package import AdCore
package import JSON
internal import Runtime

/// One row of a report.
package struct ReportRow: Hashable, Sendable {
  /// A value for each dimension of the grouping, in its order.
  package var values: [String]
  package var figures = ReportFigures()
}

/// Events of one kind and currency that no budget could pay yet, while allotments that may return some have not ended.
package struct WaitingEvents: Hashable, Sendable {
  /// `impression` or `click`.
  package var kind: String
  package var currency: String
  package var events: Int64
  /// Their prices, in nanos.
  package var price: Int128

  var json: JSONValue {
    [
      "kind": .text(kind), "currency": .text(currency), "events": .integer(events),
      "price": .text(MoneyText.format(price)),
    ]
  }
}

/// A report, read in one snapshot of the database.
package struct Report: Sendable {
  package var query: ReportQuery
  /// By worth: revenue, then impressions, then requests. Where the grouping has a time, in the order of times.
  package var rows: [ReportRow]
  /// How many rows there would be without a limit.
  package var rowsTotal: Int64
  /// The sums of all rows, of those beyond the limit too.
  package var total: ReportFigures
  /// Up to when each kind of figures is complete; nil while a partition has not told.
  package var completeUntil: [(figures: String, moment: Timestamp?)]

  /// Requests without the key of the app they name, of the whole network and of whole days: they are in no row and not
  /// in the total (M1, A1).
  package var requestsWithoutAppKey: Int64 = 0

  /// What waits for budget now, in the whole network: it is in no row's revenue and not in the total's (B4). Empty in a
  /// report of test traffic.
  package var waiting: [WaitingEvents] = []

  /// What the report's apps are offered that are offered less (A7). Empty in a report without apps, and of test traffic.
  package var standings: [ReportStanding] = []

  /// Of the apps, campaigns and ads that an empty report was asked for, those that the catalogue does not have, by their
  /// keys such as `app/chess`. Empty where the database's role may not look into the catalogue.
  package var notRegistered: [String] = []

  /// A sentence for each of ``notRegistered``.
  package static func notes(notRegistered keys: [String]) -> [String] {
    keys.map { key in
      let name = key.replacing("/", with: " ", maxReplacements: 1)
      let kind = key.prefix { $0 != "/" }
      return "No \(TextSafety.singleLine(name)) is registered, and no traffic of it is stored: "
        + "'handbill catalog list --kind \(kind)' shows those that are."
    }
  }

  /// True when there are more rows than the query allows: the others have less worth, or lie further back.
  package var isCut: Bool { rowsTotal > rows.count }

  /// The earliest of ``completeUntil``; nil when one of them is not known.
  package var completeUntilAll: Timestamp? {
    guard !completeUntil.isEmpty, completeUntil.allSatisfy({ $0.moment != nil }) else { return nil }
    return completeUntil.compactMap(\.moment).min()
  }

  /// Which rows of how many these are, such as `50 of 338 apps, the ones with the most revenue`; nil where nothing is
  /// left out.
  package var cutNote: String? {
    guard isCut else { return nil }
    let one = query.grouping.count == 1 ? query.grouping.first : nil
    let what = one?.plural ?? "rows"
    let worth = "the ones with the most \(total.revenue.isEmpty ? "impressions" : "revenue")"
    let which = query.timeIndex == nil ? worth : one == nil ? "the latest, and of one time \(worth)" : "the latest"
    return "\(TextTable.grouped(Int64(rows.count))) of \(TextTable.grouped(rowsTotal)) \(what), \(which)"
  }

  /// Where the console tells all rows, or as many as a report may have; nil where nothing is left out.
  package var restAddress: String? {
    guard isCut else { return nil }
    let words = query.words(limit: Int(clamping: rowsTotal)).map { "\($0.name)=\(Report.escaped($0.value))" }
    return "\(ConsoleAPI.reports)?\(words.joined(separator: "&"))"
  }

  /// What a URL's query may hold as it is, and commas and colons; all else by the bytes of UTF-8.
  private static func escaped(_ text: String) -> String {
    let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~,:".utf8)
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.flatMap {
      plain.contains($0) ? [$0] : [UInt8(ascii: "%"), digits[Int($0 >> 4)], digits[Int($0 & 15)]]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  package var json: JSONValue {
    [
      "traffic": query.isTest ? "test" : "live", "grouping": .texts(query.grouping.map(\.rawValue)),
      "filter": .object(
        query.filter.sorted { $0.key.rawValue < $1.key.rawValue }
          .map { JSONValue.Member($0.key.rawValue, .text($0.value)) }),
      "from": .optional(query.from?.utcText), "until": .optional(query.until?.utcText),
      "completeUntil": .object(
        completeUntil.map { JSONValue.Member($0.figures, .optional($0.moment?.utcText)) }),
      "order": query.timeIndex == nil ? "worth" : "time", "isCut": .flag(isCut), "rowsTotal": .integer(rowsTotal),
      "rest": .optional(restAddress), "requestsWithoutAppKey": .integer(requestsWithoutAppKey),
      "notRegistered": .texts(notRegistered), "waiting": .list(waiting.map(\.json)),
      "standings": .list(standings.map(\.json)), "total": total.json,
      "rows": .list(
        rows.map { row in
          guard case .object(let figures) = row.figures.json else { return .null }
          return .object(
            zip(query.grouping, row.values).map { JSONValue.Member($0.rawValue, .text($1)) } + figures)
        }),
    ]
  }
}
