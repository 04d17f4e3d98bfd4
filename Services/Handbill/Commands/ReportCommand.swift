internal import AdCore
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Postgres
internal import Runtime

/// `handbill report`: what was asked, shown, tapped, paid and earned (M6).
enum ReportCommand {
  static let command = Command(
    "report", summary: "Shows requests, fills, impressions, clicks and revenue.",
    discussion: """
      By any of \(dimensions), for any time. Ratios are exact, with two decimals; money is in units of the currency.
      """,
    options: DatabaseAddress.options + [
      .value("group", "NAMES", help: "A line for each value of these, divided by commas, such as app,day."),
      .value(
        "where", "NAME=VALUE", repeats: true,
        help: "Only what has this value, such as campaign=ferry-summer; may be repeated for another name."),
      .value("from", "TIME", help: "From this day or minute in UTC on."),
      .value("until", "TIME", help: "Up to this day or minute in UTC, which is left out."),
      .value(
        "limit", "COUNT", default: "\(ReportQuery.rowsDefault)",
        help: "The most lines, 1 to \(ReportQuery.rowsLimit): those of the most worth (share of each currency's "
          + "revenue, then impressions, requests), or the latest where they are by time."),
      .flag("test", help: "Test traffic (A2) in place of live traffic."),
      .flag(
        "anomalies", help: "In place of figures: apps' hours that the console flagged, by --where app, --from, --until."
      ),
      .flag(
        "conversions",
        help: "In place of figures: installs and purchases that came of clicks (M8), by --where app, campaign or ad, "
          + "--from, --until; of the last \(Conversions.daysDefault) days without --from."),
    ],
    examples: [
      CommandExample("handbill report", "Everything, in one line."),
      CommandExample("handbill report --group app,day --where country=DE", "Germany by app and day."),
      CommandExample("handbill report --json --group campaign", "For a program."),
      CommandExample(
        "handbill report --conversions --where campaign=chess-install",
        "What came of the clicks that a campaign paid for."),
      CommandExample("handbill report --anomalies --from 2026-07-01", "Whose traffic was unusual, and how."),
    ]
  ) { invocation in
    var words: [(name: String, value: String)] = ["group", "from", "until", "limit"].compactMap { name in
      invocation.text(name).map { (name, $0) }
    }
    for text in invocation.texts("where") {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw UsageError("--where must be NAME=VALUE") }
      if let option = option(parts[0]) {
        throw UsageError("--where chooses by \(dimensions); \(parts[0]) is an option of its own: \(option)")
      }
      guard ReportDimension(rawValue: parts[0]) != nil else {
        throw UsageError("--where chooses by \(dimensions); \(parts[0].prefix(40)) is none of them")
      }
      words.append((parts[0], parts[1]))
    }
    if invocation.has("test") { words.append(("traffic", "test")) }
    let query = try ReportQuery.read(words).mapError { UsageError("\($0)") }.get()
    guard !invocation.has("anomalies") || !invocation.has("conversions") else {
      throw UsageError("--anomalies and --conversions are two reports: give one of them")
    }
    if invocation.has("anomalies") {
      if let mistakes = query.mistakes(inListBy: Anomalies.dimensions) { throw UsageError("--anomalies: \(mistakes)") }
      let flags = try await onOwnThread {
        try withPool(DatabaseAddress.address(invocation)) { try Anomalies($0).list(query) }
      }
      Terminal.write(
        invocation.wantsJSON ? flags.json(\.json).prettyText + "\n" : Anomaly.table(flags),
        to: Terminal.standardOutput)
      return .success
    }
    if invocation.has("conversions") {
      if let mistakes = query.mistakes(inListBy: Conversions.dimensions) {
        throw UsageError("--conversions: \(mistakes)")
      }
      let (rows, notRegistered) = try await onOwnThread {
        try withPool(DatabaseAddress.address(invocation)) { pool in
          let rows = try Conversions(pool).list(query, now: SystemClock().now)
          return (rows, rows.items.isEmpty ? try Reports(pool).notRegistered(query) : [])
        }
      }
      for note in Report.notes(notRegistered: notRegistered) { Terminal.note("handbill report: \(note)") }
      Terminal.write(
        invocation.wantsJSON ? rows.json(\.json).prettyText + "\n" : ConversionRow.table(rows),
        to: Terminal.standardOutput)
      return .success
    }
    let report = try await onOwnThread {
      try withPool(DatabaseAddress.address(invocation)) { try Reports($0).report(query) }
    }
    for note in Report.notes(notRegistered: report.notRegistered) { Terminal.note("handbill report: \(note)") }
    Terminal.print(invocation.wantsJSON ? report.json.prettyText : report.text)
    return .success
  }

  /// The option that somebody meant who gives its name as a condition.
  private static func option(_ name: String) -> String? {
    switch name {
    case "traffic", "test": "--test"
    case "group", "from", "until", "limit": "--\(name) VALUE"
    default: nil
    }
  }

  private static let dimensions = ReportDimension.allCases.map(\.rawValue).joined(separator: ", ")

  /// Calls `body` with a pool of one connection. Blocks.
  static func withPool<Result>(_ databaseURL: String, _ body: (PostgresPool) throws -> Result) throws -> Result {
    let pool = PostgresPool(try PostgresConfiguration(databaseURL, applicationName: "handbill-accounts"), size: 1)
    defer { pool.close() }
    return try body(pool)
  }
}

/// `handbill reconcile`: compares all accounts.
enum ReconcileCommand {
  static let command = Command(
    "reconcile", summary: "Compares all accounts with each other; exit 1 on any difference.",
    discussion: """
      Every record has one outcome (I3), budgets hold (I5), the ledger balances (I6), accepted events, charges and
      served ads agree (I7), and no test traffic is charged (I8), while everything goes on. Of sealed days the sums are
      compared, of open ones every row.
      """,
    options: DatabaseAddress.options + [
      .value(
        "tally", "FILE",
        help: "What devices know to have happened, as 'handbill simulate --tally' or a client of your own writes it "
          + "(docs/tally.md)."),
      .flag(
        "sealed",
        help: "Also every row of sealed days that is still there, and their terms: it takes as long as there are rows."),
    ],
    examples: [
      CommandExample("handbill reconcile", "The network's accounts among themselves."),
      CommandExample("handbill reconcile --tally .demo/tally.json", "And with the devices' own count."),
    ]
  ) { invocation in
    let reconciliation = try await onOwnThread {
      let account = try invocation.text("tally").map(account)
      return try ReportCommand.withPool(DatabaseAddress.address(invocation)) {
        try Reconciler($0).reconcile(tally: account, withSealedRows: invocation.has("sealed"))
      }
    }
    Terminal.print(invocation.wantsJSON ? reconciliation.json.prettyText : reconciliation.text)
    return reconciliation.differences == 0 ? .success : .failure
  }

  private static func account(_ path: String) throws -> DeviceAccount {
    guard let text = ConfigurationReader.textOfFile(path), text.utf8.count <= DeviceAccount.bytesMaximum else {
      throw UsageError("--tally \(path) cannot be read")
    }
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue.parse(text.utf8) } catch {
      throw UsageError("--tally \(path): \(error)")
    }
    return try DeviceAccount.read(value).mapError { UsageError("--tally \(path): \($0)") }.get()
  }
}
