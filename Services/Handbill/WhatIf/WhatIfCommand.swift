internal import AdCore
internal import AdSelectionCore
internal import Foundation
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Postgres
internal import Runtime

/// `handbill whatif`: logged auctions held again, with the catalogue as it was or a changed one.
enum WhatIfCommand {
  static let command = Command(
    "whatif",
    summary: "Holds logged auctions again, with the catalogue as it was or changed, and shows the difference.",
    discussion: """
      Each auction is held by the rules of production, at its own time, with what was logged: request, catalogue, seed, \
      circuit breaker, and the budget that was at hand; so each answers for itself, and what another winner would have \
      used up changes none of the others. Without a change every auction must come to the same ad and price: exit 1 if \
      one does not. Nothing is written. Not held again are auctions during which a change of the catalogue was on its \
      way, and those of before this was logged: they are counted. What is expected of ads is in the network's own unit, \
      by the rates of settings.currencyRates.
      """,
    options: DatabaseAddress.options + [
      .value("from", "TIME", help: "From this day or moment in UTC on."),
      .value("to", "TIME", help: "Up to this day or moment in UTC, which is left out; without it until now."),
      .value(
        "catalog", "FILE",
        help: "A catalogue file: its records stand in the place of those there were; what it does not name stays."),
      .value(
        "set", "KEY.MEMBER=VALUE", repeats: true,
        help: "A member of a record set as by 'handbill catalog set', such as campaign/ferry-summer.cpm=12.50."),
      .value(
        "funded", "CAMPAIGN", repeats: true,
        help: "This campaign is taken to have had budget at hand always: one that is new or was paused had none."),
    ],
    examples: [
      CommandExample("handbill whatif --from 2026-07-01 --to 2026-07-02", "Proves a day's auctions."),
      CommandExample(
        "handbill whatif --from 2026-07-01 --set campaign/ferry-summer.cpm=12.50", "What a higher price had won."),
      CommandExample(
        "handbill whatif --from 2026-07-01T12:00:00Z --catalog new.json --funded harbour-lights --json",
        "A new campaign, with money, for a program."),
    ]
  ) { invocation in
    let question = try question(invocation, now: SystemClock().now)
    let report = try await onOwnThread {
      let connection = try DatabaseAddress.connect(invocation)
      defer { connection.close() }
      return try WhatIf.answer(question, connection)
    }
    Terminal.print(invocation.wantsJSON ? report.json.prettyText : report.text)
    return report.isChanged || report.different == 0 ? .success : .failure
  }

  static func question(_ invocation: Invocation, now: Timestamp) throws -> LoggedHistory.Question {
    guard let from = try moment("from", invocation) else { throw UsageError("--from must say since when") }
    let to = try moment("to", invocation) ?? now
    guard from < to else { throw UsageError("--to must lie after --from") }
    var question = LoggedHistory.Question(from: from, to: to)
    if let path = invocation.text("catalog") { question.overlay.put(try file(path)) }
    for text in invocation.texts("set") {
      let edit = try edit(text)
      question.overlay.set(edit.key, edit.path, to: edit.value)
    }
    question.funded = Set(
      try invocation.texts("funded").map { text in
        guard let campaign = CampaignID(text) else { throw UsageError("--funded must be a campaign's id") }
        return campaign
      })
    return question
  }

  static func moment(_ name: String, _ invocation: Invocation) throws(UsageError) -> Timestamp? {
    guard let text = invocation.text(name) else { return nil }
    guard let moment = Timestamp(utcText: text) ?? Timestamp(utcText: text + "T00:00:00Z") else {
      throw UsageError("--\(name) must be a day such as 2026-07-01 or a moment such as 2026-07-01T12:00:00Z")
    }
    return moment
  }

  private static func file(_ path: String) throws -> CatalogFile {
    guard let handle = FileHandle(forReadingAtPath: path) else { throw UsageError("--catalog \(path) cannot be read") }
    let bytes = try handle.read(upToCount: CatalogFile.bytesMaximum + 1) ?? Data()
    return try CatalogFile.read(Array(bytes)).get()
  }

  /// The key ends at the first dot: ids have none.
  private static func edit(_ text: String) throws(UsageError) -> (key: String, path: String, value: String) {
    let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let names = (sides.first ?? "").split(separator: ".", maxSplits: 1).map(String.init)
    guard sides.count == 2, names.count == 2, CatalogKind(key: names[0]) != nil else {
      throw UsageError("--set must be KEY.MEMBER=VALUE, not “\(TextSafety.singleLine(text))”")
    }
    return (names[0], names[1], sides[1])
  }
}
