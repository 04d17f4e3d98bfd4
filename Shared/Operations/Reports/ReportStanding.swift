package import AdCore
internal import JSON
internal import Runtime

/// What an app is offered that is offered less than everything, for the ads' actions that it stops (A7).
package struct ReportStanding: Hashable, Sendable {
  package var app: String
  /// Of a hundred of its requests so many may get a paid ad: a number with two decimals.
  package var offeredPercent: String
  /// Ads whose action it stopped, each once, over the days that count.
  package var stopped: Int64
  /// Ads that were tapped, those among them.
  package var tapped: Int64
  package var since: Timestamp

  var json: JSONValue {
    [
      "app": .text(app), "offeredPercent": .text(offeredPercent), "stopped": .integer(stopped),
      "tapped": .integer(tapped), "since": .text(since.utcText),
    ]
  }

  /// For people: a sentence.
  package var text: String {
    "\(TextSafety.singleLine(app)) is offered paid ads for \(offeredPercent) % of its requests since \(since.utcText): of "
      + "\(TextTable.grouped(tapped)) ads that were tapped it stopped the action of \(TextTable.grouped(stopped)) (A7)."
  }
}
