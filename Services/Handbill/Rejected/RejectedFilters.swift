internal import AdCore
internal import Operations
internal import Runtime

/// Which rejected records a command is about, as its options and arguments say.
enum RejectedFilters {
  static let options: [CommandOption] = [
    .value("service", "NAME", help: "Only what this service rejected, such as click-tracking."),
    .value("topic", "NAME", help: "Only of this topic, such as ads.clicks."),
    .value(
      "reason", "REASON", repeats: true,
      help: "Only for this reason, by number or name, such as 75 or tokenKeyUnknown; may be repeated."),
    .value("since", "TIME", help: "What arrived from this moment on: a day, a moment in UTC, or so long ago as 2h."),
    .value("until", "TIME", help: "What arrived before this moment."),
  ]
  /// How one record is named.
  static let reference = "SERVICE/TOPIC/PARTITION/OFFSET, as the list shows it"

  /// - Throws: what is wrong with an option or an argument.
  static func query(_ invocation: Invocation) throws(UsageError) -> RejectedQuery {
    var reasons: [RejectionReason] = []
    for text in invocation.texts("reason") {
      guard let reason = RejectionReason(text: text) else {
        let nearest = NearestName.find(text, among: RejectionReason.allCases.map(\.name))
        throw UsageError(
          "--reason must be a number from 64 or a name such as tokenForged"
            + (nearest.map { "; did you mean \($0)?" } ?? ""))
      }
      reasons.append(reason)
    }
    return RejectedQuery(
      service: try invocation.text("service").map { text throws(UsageError) in try PipelineSchema.named(text).service },
      topic: invocation.text("topic"), reasons: reasons, since: try moment("since", invocation),
      until: try moment("until", invocation), references: try references(invocation),
      rowsMaximum: try invocation.integer("limit", in: 1...RejectedQuery.rowsLimit) ?? 100)
  }

  private static func moment(_ option: String, _ invocation: Invocation) throws(UsageError) -> Timestamp? {
    guard let text = invocation.text(option) else { return nil }
    if let moment = Timestamp(utcText: text) ?? Timestamp(utcText: text + "T00:00:00Z") { return moment }
    guard let ago = DurationText.milliseconds(text), text.last?.isNumber == false else {
      throw UsageError("--\(option) must be a day, a moment such as 2026-07-01T12:00:00Z, or so long ago as 2h")
    }
    return SystemClock().now.advanced(byMilliseconds: -Int64(ago))
  }

  /// The records that the arguments name.
  static func references(_ invocation: Invocation) throws(UsageError) -> [RejectedReference] {
    try invocation.arguments.map { text throws(UsageError) in
      guard let found = RejectedReference(text) else {
        throw UsageError("REFERENCE must be \(reference), not “\(TextSafety.singleLine(text, bytesMaximum: 200))”")
      }
      return found
    }
  }
}
