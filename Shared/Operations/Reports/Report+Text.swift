internal import AdCore

extension Report {
  /// For a terminal. A ratio that is absent shows as a dash.
  package var text: String {
    let names = query.grouping.map(\.rawValue)
    let figures = [
      "requests", "fills", "impressions", "fill rate", "clicks", "CTR", "gross", "developer", "network", "eCPM",
      "gross eCPM", "eCPM over", "errors", "not billed",
    ]
    var table = TextTable(
      names + figures, rightAligned: Set(names.count..<(names.count + figures.count - 2)))
    for row in rows { table.rows += Report.lines(row.values, row.figures) }
    table.rows += Report.lines(names.isEmpty ? [] : ["total"] + names.dropFirst().map { _ in "" }, total)
    let until = completeUntil.map { "\($0.figures) \($0.moment?.utcText ?? "not yet known")" }
    return (query.isTest ? "Test traffic: never billed.\n" : "") + table.text
      + (cutNote.map { "\($0); the rest: \(restOption). The total is of all.\n" } ?? "")
      + (requestsWithoutAppKey == 0
        ? ""
        : "\(TextTable.grouped(requestsWithoutAppKey)) requests came without their app's key: they count for no app.\n")
      + waiting.map { part in
        "\(TextTable.grouped(part.events)) \(part.kind)s of \(part.currency) \(MoneyText.format(part.price)) wait for "
          + "budget that allotments may still return (B4), in the whole network: not in the revenue yet.\n"
      }.joined()
      + standings.map { "\($0.text)\n" }.joined()
      + (total.revenue.count > 1 ? Report.currencyNote + "\n" : "")
      + "Complete up to: \(until.isEmpty ? "not yet known" : until.joined(separator: ", ")).\n"
  }

  /// What eCPM divides by, where money comes in several currencies.
  package static let currencyNote =
    "eCPM: each currency's revenue over the impressions of its campaigns, house ads too (eCPM over), not over all."

  private var restOption: String {
    rowsTotal <= ReportQuery.rowsLimit
      ? "--limit \(rowsTotal)" : "--where, --from and --until choose; --limit \(ReportQuery.rowsLimit) is the most"
  }

  /// One line, and another for each further currency.
  private static func lines(_ values: [String], _ figures: ReportFigures) -> [[String]] {
    let counts =
      values + [
        TextTable.grouped(figures.requests), TextTable.grouped(figures.fills), TextTable.grouped(figures.impressions),
        figures.fillRate.map { "\($0) %" } ?? "–", TextTable.grouped(figures.clicks),
        figures.clickThroughRate.map { "\($0) %" } ?? "–",
      ]
    let errors = figures.errorsByCode.map { "\($0.error.name):\($0.times)" }.joined(separator: " ")
    // Views have one reason, which taps have too.
    let views = figures.invalidImpressions.map { ("views \($0.key)", $0.value) }
    let invalid = (views + figures.invalidClicks.map { ($0.key, $0.value) })
      .sorted { $0.0 < $1.0 }.map { "\($0.0):\($0.1)" }.joined(separator: " ")
    guard !figures.revenue.isEmpty else { return [counts + Array(repeating: "–", count: 6) + [errors, invalid]] }
    return figures.revenue.enumerated().map { index, money in
      let amounts = [money.gross, money.developer, money.network].map { "\(money.currency) \(MoneyText.format($0))" }
      let rates = [
        money.ecpm?.description ?? "–", money.grossECPM?.description ?? "–", TextTable.grouped(money.impressions),
      ]
      return (index == 0 ? counts : Array(repeating: "", count: counts.count)) + amounts + rates
        + (index == 0 ? [errors, invalid] : ["", ""])
    }
  }
}
