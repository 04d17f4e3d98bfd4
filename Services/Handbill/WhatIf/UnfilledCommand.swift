internal import AdCore
internal import AdSelectionCore
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Postgres
internal import Runtime

/// `handbill unfilled`: why requests got no ad, by campaign.
enum UnfilledCommand {
  private static let oneInDefault: UInt64 = 10
  private static let campaignsDefault = 30

  static let command = Command(
    "unfilled", summary: "Shows why requests got no ad: by rule, and by campaign for a share of them.",
    discussion: """
      For all live requests that an auction left without an ad: the reasons, and how many ads were kept by which rule \
      first. For one in so many the auction is looked at again ad by ad, with the catalogue and the budget of its time: \
      for each campaign the rule at which its best ad failed. Campaigns that came nearest most often stand first: of \
      those, a budget, a target or an exclusion is all that was in the way.
      """,
    options: DatabaseAddress.options + [
      .value("from", "TIME", help: "From this day or moment in UTC on."),
      .value("to", "TIME", help: "Up to this day or moment in UTC, which is left out; without it until now."),
      .value("one-in", "COUNT", default: "\(oneInDefault)", help: "One of so many is looked at by campaign."),
      .value(
        "limit", "COUNT", default: "\(campaignsDefault)", help: "The most campaigns that are shown; --json has all."),
    ],
    examples: [
      CommandExample("handbill unfilled --from 2026-07-01T12:00:00Z", "Since noon."),
      CommandExample("handbill unfilled --from 2026-07-01 --one-in 1 --json", "All of them, for a program."),
    ]
  ) { invocation in
    guard let from = try WhatIfCommand.moment("from", invocation) else {
      throw UsageError("--from must say since when")
    }
    let to = try WhatIfCommand.moment("to", invocation) ?? SystemClock().now
    guard from < to else { throw UsageError("--to must lie after --from") }
    let oneIn = try number("one-in", invocation) ?? oneInDefault
    let limit = try number("limit", invocation).map { Int(clamping: $0) } ?? campaignsDefault
    let report = try await onOwnThread {
      let connection = try DatabaseAddress.connect(invocation)
      defer { connection.close() }
      return try UnfilledReport.make(LoggedHistory.Question(from: from, to: to), oneIn: oneIn, connection)
    }
    Terminal.print(invocation.wantsJSON ? report.json.prettyText : report.text(campaigns: limit))
    return .success
  }

  private static func number(_ name: String, _ invocation: Invocation) throws(UsageError) -> UInt64? {
    guard let text = invocation.text(name) else { return nil }
    guard let number = UInt64(text), number >= 1 else { throw UsageError("--\(name) must be a whole number from 1 on") }
    return number
  }
}
