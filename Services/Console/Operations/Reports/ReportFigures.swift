import AdCore

/// Money of one currency in a report, in nanos.
package struct ReportRevenue: Hashable, Sendable {
  package var currency: String
  /// What advertisers pay.
  package var gross: Int128
  /// The app developer's part (B2).
  package var developer: Int128
  /// The network's part; below 0 where it bears what no budget could pay.
  package var network: Int128
}

/// The figures of one row of a report (M1 to M3, M6).
package struct ReportFigures: Hashable, Sendable {
  package var requests: Int64 = 0
  package var fills: Int64 = 0
  package var rendered: Int64 = 0
  /// Net: those that count (M1, M4).
  package var impressions: Int64 = 0
  package var unloaded: Int64 = 0
  /// Gross: all taps whose action began, free ones too.
  package var taps: Int64 = 0
  /// Net: taps that count.
  package var clicks: Int64 = 0
  /// Actions that the app blocked or cancelled (A7).
  package var stoppedActions: Int64 = 0
  /// Told and not billed, by reason (B8); `impossible` is the only one.
  package var invalidImpressions: [String: Int64] = [:]
  /// Taps that are free, by their verdict (M4 to M7, B8).
  package var invalidClicks: [String: Int64] = [:]
  /// How often each error code of rules E occurred.
  package var errors: [Int16: Int64] = [:]
  /// By currency, ascending.
  package var revenue: [ReportRevenue] = []

  package init() {}

  /// All impressions that were told and understood, each once: those that count and those that cannot be.
  package var grossImpressions: Int64 { invalidImpressions.values.reduce(impressions, +) }

  /// Impressions per request in percent (M1).
  package var fillRate: Hundredths? { .percent(impressions, of: requests) }
  /// Clicks per impression in percent (M2).
  package var clickThroughRate: Hundredths? { .percent(clicks, of: impressions) }
  /// The developer's revenue for a thousand impressions (M3).
  package func ecpm(_ revenue: ReportRevenue) -> Hundredths? {
    .perThousand(revenue: revenue.developer, impressions: impressions)
  }
  /// What advertisers pay for a thousand impressions.
  package func grossECPM(_ revenue: ReportRevenue) -> Hundredths? {
    .perThousand(revenue: revenue.gross, impressions: impressions)
  }

  private static func json(_ counts: [String: Int64]) -> JSONValue {
    .object(counts.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .integer($0.value)) })
  }

  /// Exact: money and ratios are texts, absent ratios null (M6). Gross figures are all that was told, net ones
  /// (`impressions`, `clicks`) what counts; the difference stands under `invalid` by reason.
  package var json: JSONValue {
    [
      "requests": .integer(requests), "fills": .integer(fills), "impressions": .integer(impressions),
      "fillRate": .optional(fillRate?.description), "clicks": .integer(clicks),
      "clickThroughRate": .optional(clickThroughRate?.description), "taps": .integer(taps),
      "grossImpressions": .integer(grossImpressions), "grossClicks": .integer(taps),
      "invalid": [
        "impressions": ReportFigures.json(invalidImpressions), "clicks": ReportFigures.json(invalidClicks),
      ],
      "rendered": .integer(rendered), "unloaded": .integer(unloaded), "stoppedActions": .integer(stoppedActions),
      "revenue": .list(
        revenue.map { money in
          [
            "currency": .text(money.currency), "gross": .text(MoneyText.format(money.gross)),
            "developer": .text(MoneyText.format(money.developer)), "network": .text(MoneyText.format(money.network)),
            "ecpm": .optional(ecpm(money)?.description), "grossEcpm": .optional(grossECPM(money)?.description),
          ]
        }),
      "errors": .object(
        errors.sorted { $0.key < $1.key }.map { JSONValue.Member("\($0.key)", .integer($0.value)) }),
    ]
  }
}

/// One row of a report.
package struct ReportRow: Hashable, Sendable {
  /// A value for each dimension of the grouping, in its order.
  package var values: [String]
  package var figures: ReportFigures
}

/// A report, read in one snapshot of the database.
package struct Report: Sendable {
  package var query: ReportQuery
  package var rows: [ReportRow]
  /// True when there were more rows than the query allows.
  package var isCut: Bool
  package var total: ReportFigures
  /// Up to when each kind of figures is complete; nil while a partition has not told.
  package var completeUntil: [(figures: String, moment: Timestamp?)]

  /// The earliest of ``completeUntil``; nil when one of them is not known.
  package var completeUntilAll: Timestamp? {
    guard !completeUntil.isEmpty, completeUntil.allSatisfy({ $0.moment != nil }) else { return nil }
    return completeUntil.compactMap(\.moment).min()
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
      "isCut": .flag(isCut), "total": total.json,
      "rows": .list(
        rows.map { row in
          guard case .object(let figures) = row.figures.json else { return .null }
          return .object(
            zip(query.grouping, row.values).map { JSONValue.Member($0.rawValue, .text($1)) } + figures)
        }),
    ]
  }
}
