internal import AdCore
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Runtime

/// `handbill explain`: everything known of one request or served ad.
enum ExplainCommand {
  static let command = Command(
    "explain", summary: "Tells everything known of one request or served ad, from the decision to the ledger.",
    discussion: """
      By what its client has: the request's id, the serve token of the answer, or the serve id, which tables and logs \
      show. Refused and unfilled requests are explained as well, with why, and rejected records that name it are told. A \
      token's authenticity is checked where HANDBILL_TOKEN_KEYS says the network's keys. Exit 1 if nothing is known. \
      \(Explain.searchHelp)
      """,
    options: DatabaseAddress.options + [
      .value("day", "TIME", help: "The day, or a moment of it, around which a request id is looked for, in UTC.")
    ],
    arguments: [
      CommandArgument(
        "ID", help: "A request id or serve id (0197e4a2-…, or as in JSON in base64), or a serve token in base64.")
    ],
    examples: [
      CommandExample("handbill explain 0197e4a2-8c1b-7d3e-9f00-3a5b7c9d1e2f", "Why it was served, shown and charged."),
      CommandExample(
        "handbill explain --json AZfkoowbfT6fADpbfJ0eLw==", "The same by the request id of a JSON answer."),
    ]
  ) { invocation in
    let text = invocation.argument(0) ?? ""
    guard let subject = ExplainSubject.read(text) else {
      throw UsageError("ID must be a UUID of version 7 (or its 16 bytes in base64), or a serve token in base64")
    }
    let day = try invocation.text("day").map { text throws(UsageError) in
      guard let day = Timestamp(utcText: text) ?? Timestamp(utcText: text + "T00:00:00Z") else {
        throw UsageError("--day must be a day such as 2026-07-01 or a moment such as 2026-07-01T12:00:00Z")
      }
      return day
    }
    var authenticity = TokenAuthenticity.notChecked
    if case .token(_, let token) = subject {
      authenticity = try TokenAuthenticity(of: token, TokenKeys.ring(invocation))
    }
    let explanation = try await onOwnThread { [authenticity] in
      try ReportCommand.withPool(DatabaseAddress.address(invocation)) {
        try Explain($0).explain(subject, around: day, authenticity: authenticity)
      }
    }
    if invocation.wantsJSON {
      Terminal.print(explanation.json.prettyText)
    } else {
      Terminal.write(explanation.text, to: explanation.isKnown ? Terminal.standardOutput : Terminal.standardError)
    }
    return explanation.isKnown ? .success : .failure
  }
}
