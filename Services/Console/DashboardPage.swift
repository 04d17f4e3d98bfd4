internal import AdCore
internal import HTTP
internal import Operations

/// The page that shows the figures: what matters most above, then a table for each way of looking.
struct DashboardPage {
  private static let refreshSeconds = 30

  /// One for each dimension, all of the same traffic and time.
  let reports: [Report]
  let isTest: Bool
  let state: NetworkState

  private var total: ReportFigures { reports.first?.total ?? ReportFigures() }

  var html: HTML {
    Page.html("Handbill", refreshSeconds: Self.refreshSeconds) {
      Page.header(chosen: isTest ? "/?traffic=test" : "/", note: watermark)
      HTML.element("main") {
        state.html
        HTML.element("section", [.class("cards"), .named("aria-label", "Summary")]) {
          for card in cards { card }
        }
        for report in reports { table(report) }
      }
      footer
    }
  }

  private var watermark: String {
    let days = DashboardReports.daysShown
    let since = reports.first?.query.from.map { "Since \($0.utcText.prefix(10)), \(days) days. " } ?? ""
    let until = reports.first?.completeUntilAll?.minuteText
    return since + (until.map { "Complete up to \($0)" } ?? "Complete up to: not yet known")
  }

  private var cards: [HTML] {
    let counts = [
      card("Requests", TextTable.grouped(total.requests), "\(TextTable.grouped(total.fills)) answered with an ad"),
      card("Impressions", TextTable.grouped(total.impressions), "fill rate \(percent(total.fillRate)), of requests"),
      card("Clicks", TextTable.grouped(total.clicks), "click-through rate \(percent(total.clickThroughRate))"),
    ]
    return counts
      + total.revenue.flatMap { money in
        [
          card(
            "Advertisers pay", MoneyText.format(money.gross), "gross eCPM \(figure(money.grossECPM))\(eCPMOver(money))",
            unit: money.currency),
          card(
            "Developers earn", MoneyText.format(money.developer), "eCPM \(figure(money.ecpm))\(eCPMOver(money))",
            unit: money.currency),
          card("Network keeps", MoneyText.format(money.network), "of what advertisers pay", unit: money.currency),
        ]
      }
  }

  /// How wide a card's number is: a number never breaks, longer ones are smaller.
  private func width(_ value: String, _ unit: String) -> String {
    switch value.count + unit.count {
    case ...13: "figure"
    case ...21: "figure long"
    default: "figure longest"
    }
  }

  private func card(_ title: String, _ value: String, _ note: String, unit: String = "") -> HTML {
    HTML.element("div", [.class("card")]) {
      HTML.element("h2") { title }
      HTML.element("p", [.class(width(value, unit))]) {
        if !unit.isEmpty { HTML.element("span", [.class("unit")]) { unit } }
        value
      }
      HTML.element("p", [.class("note")]) { note }
    }
  }

  private func table(_ report: Report) -> HTML {
    let name = report.query.grouping.first?.rawValue ?? ""
    return HTML.element("section") {
      HTML.element("h2") { "By \(name)" }
      if report.rows.isEmpty {
        HTML.element("p", [.class("note nothing")]) { "Nothing yet." }
      } else {
        rows(report, name)
      }
      for standing in report.standings { HTML.element("p", [.class("note")]) { standing.text } }
      if let note = report.cutNote, let rest = report.restAddress {
        HTML.element("p", [.class("note cut")]) {
          "\(note); the rest: "
          HTML.element("a", [.href(rest)]) { rest }
        }
      }
    }
  }

  private func rows(_ report: Report, _ name: String) -> HTML {
    HTML.element("div", [.class("scroll")]) {
      HTML.element("table") {
        HTML.element("thead") {
          HTML.element("tr") {
            HTML.element("th", [.named("scope", "col")]) { name.prefix(1).uppercased() + name.dropFirst() }
            for title in titles { HTML.element("th", [.named("scope", "col"), .class("number")]) { title } }
          }
        }
        HTML.element("tbody") { for row in report.rows { tableRow(row) } }
      }
    }
  }

  private var titles: [String] {
    ["Requests", "Fills", "Impressions", "Fill rate", "Clicks", "CTR"]
      + (isTest ? [] : ["Gross", "Developer", "eCPM", "Gross eCPM"]) + ["Errors"]
  }

  private func tableRow(_ row: ReportRow) -> HTML {
    let figures = row.figures
    let name = row.values.first ?? ""
    var cells = [
      TextTable.grouped(figures.requests), TextTable.grouped(figures.fills), TextTable.grouped(figures.impressions),
      percent(figures.fillRate), TextTable.grouped(figures.clicks), percent(figures.clickThroughRate),
    ]
    if !isTest {
      let money = figures.revenue
      cells += [
        money.map { "\($0.currency) \(MoneyText.format($0.gross))" },
        money.map { "\($0.currency) \(MoneyText.format($0.developer))" },
        money.map { eCPMPrefix($0, of: money) + figure($0.ecpm) },
        money.map { eCPMPrefix($0, of: money) + figure($0.grossECPM) },
      ].map { $0.isEmpty ? "–" : $0.joined(separator: " · ") }
    }
    // On a narrow screen each figure stands behind its own title.
    return HTML.element("tr") {
      HTML.element("th", [.named("scope", "row")]) { name.isEmpty ? "no ad" : name }
      for (title, cell) in zip(titles, cells) {
        HTML.element("td", [.class("number"), .named("data-title", title)]) { cell }
      }
      HTML.element("td", [.class("number errors"), .named("data-title", titles.last ?? "")]) { errorsText(figures) }
    }
  }

  private var footer: HTML {
    HTML.element("footer") {
      HTML.element("p") {
        "The same, and more, as JSON: "
        for address in [
          ConsoleAPI.reports + "/app", ConsoleAPI.reports + "/campaign", ConsoleAPI.anomalies, ConsoleAPI.conversions,
          ConsoleAPI.reconciliation, ConsoleAPI.catalog,
        ] {
          HTML.element("a", [.href(address)]) { address }
          " "
        }
      }
      HTML.element("p") {
        "A campaign's requests are those that got an ad of it. Fills were answered with an ad, fill rate and CTR are of "
          + "impressions: those over requests, clicks over them. Gross is what advertisers pay, Developer what of it "
          + "developers earn."
      }
      HTML.element("p") {
        "Errors are what apps were told in place of an ad: inventoryUnavailable, that there was none for them, is no fault."
      }
      if total.revenue.count > 1 { HTML.element("p") { Report.currencyNote } }
      HTML.element("p") { "A dash stands for a ratio without a denominator. Times are in UTC." }
    }
  }

  /// Errors of rules E with their counts; a line breaks between two, never within one.
  private func errorsText(_ figures: ReportFigures) -> String {
    let errors = figures.errorsByCode
    guard !errors.isEmpty else { return "–" }
    return errors.map { "\($0.error.name):\u{A0}\(TextTable.grouped($0.times))" }.joined(separator: ", ")
  }

  /// Where there are several currencies, each divides by impressions of its own.
  private func eCPMOver(_ money: ReportRevenue) -> String {
    total.revenue.count > 1 ? " over \(TextTable.grouped(money.impressions)) impressions" : ""
  }
  private func eCPMPrefix(_ money: ReportRevenue, of all: [ReportRevenue]) -> String {
    all.count > 1 ? "\(money.currency) " : ""
  }
  private func percent(_ ratio: Hundredths?) -> String { ratio.map { "\($0) %" } ?? "–" }
  private func figure(_ figure: Hundredths?) -> String { figure?.description ?? "–" }
}
