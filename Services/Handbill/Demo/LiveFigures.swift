internal import AdCore
internal import LocalProcesses
internal import Postgres
internal import Runtime

/// The network's state in a few numbers, for the live table.
struct LiveFigures: Sendable {
  var requests: Int64 = 0
  var filled: Int64 = 0
  var impressions: Int64 = 0
  var clicks: Int64 = 0
  /// By currency.
  var money: [Currency: Money] = [:]
  /// Records in the logs that are not decided yet; nil while no service says.
  var lag: Int64?
  var restarts = 0

  /// What advertisers pay, and the developers' part; nanos.
  struct Money: Sendable {
    var spend: Int128
    var earnings: Int128
  }

  static let columns = ["time", "requests", "answered", "impressions", "CTR", "spend", "earnings", "lag"]

  /// One row of the table.
  func cells(seconds: Int) -> [String] {
    [
      "\(seconds) s", "\(requests)", percentage(filled, of: requests), "\(impressions)",
      percentage(clicks, of: impressions), amounts(\.spend), amounts(\.earnings), lag.map { "\($0)" } ?? "-",
    ]
  }

  private func percentage(_ part: Int64, of whole: Int64) -> String {
    guard whole > 0 else { return "-" }
    let hundredths = part * 10_000 / whole
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest) %"
  }

  /// Amounts of two currencies are never added up: where there are several, each stands with its currency.
  private func amounts(_ part: KeyPath<Money, Int128>) -> String {
    let amounts = money.sorted { $0.key.description < $1.key.description }.map { currency, money in
      let hundredths = money[keyPath: part] / 10_000_000
      let rest = hundredths % 100
      return (currency: currency, text: "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)")
    }
    guard amounts.count > 1 else { return amounts.first?.text ?? "0.00" }
    return amounts.map { "\($0.currency) \($0.text)" }.joined(separator: " ")
  }
}

/// Reads the live figures from the database and from the services' metrics.
struct LiveReader {
  private let connection: PostgresConnection
  private let services: [ServiceProcess]
  /// What was there before this run, so that the table counts from nothing.
  private var start: LiveFigures?

  init(databaseURL: String, services: [ServiceProcess]) throws(PostgresError) {
    connection = try DatabaseAddress.connect(databaseURL)
    self.services = services
  }

  func close() { connection.close() }

  /// The figures since the first call.
  mutating func read() throws(PostgresError) -> LiveFigures {
    var figures = LiveFigures()
    if let row = try connection.run(ReadLiveFigures()).first { figures = row }
    for (currency, money) in try connection.run(ReadLiveMoney()) { figures.money[currency] = money }
    let first = start ?? figures
    start = first
    figures.requests -= first.requests
    figures.filled -= first.filled
    figures.impressions -= first.impressions
    figures.clicks -= first.clicks
    for (currency, money) in first.money {
      figures.money[currency]?.spend -= money.spend
      figures.money[currency]?.earnings -= money.earnings
    }
    figures.lag = lag()
    figures.restarts = services.reduce(0) { $0 + $1.restarts }
    return figures
  }

  private func lag() -> Int64? {
    Self.lag(in: services.compactMap { $0.service.ask("/metrics")?.text })
  }

  /// What pages of metrics say of records that wait; nil where they say nothing that is a number of records.
  static func lag(in pages: [String]) -> Int64? {
    let lines = pages.flatMap { $0.split(separator: "\n") }.filter { $0.hasPrefix(lagMetric) }
    let values = lines.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.filter(\.isFinite)
    return values.isEmpty ? nil : Int64(exactly: values.reduce(0, +).rounded())
  }

  private static let lagMetric = "handbill_consumer_lag_records{"
}
