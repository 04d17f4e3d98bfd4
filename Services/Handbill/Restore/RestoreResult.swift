internal import JSON
internal import Operations

/// What was done about lost commits, or would be.
struct RestoreResult {
  var isTrial: Bool
  /// Records of the catalogue that were taken back from the topic.
  var catalog: [CatalogLoss]
  /// Where the topics tell of more than the database knows, or a service has stopped.
  var losses: [Timelines.Loss]
  /// The timeline that was begun; nil where nothing was lost.
  var timeline: Int64?
  /// Ads with events and without a decision that were found one by one.
  var namedServes: Int64 = 0
  /// What is accepted to be lost, of all timelines.
  var serves: [LostServes] = []

  private var verb: String { isTrial ? "would be" : "were" }

  var text: String {
    ([catalogText, lossText] + serves.map(\.text) + [servesText].compactMap(\.self)).joined(separator: "\n")
  }

  private var catalogText: String {
    guard !catalog.isEmpty else { return "The catalogue's topic tells of nothing that the database lacks." }
    let rows = catalog.map { loss in
      [
        loss.key, loss.storedVersion.map { "was version \($0)" } ?? "was not there",
        loss.record == nil ? "deleted" : "",
      ]
    }
    return "\(catalog.count) records of the catalogue \(verb) taken back from the topic:\n\(TextTable.text(rows))"
  }

  private var lossText: String {
    guard let timeline else { return "The services' topics tell of nothing that the database lacks." }
    let rows = losses.map { ["\($0.service)[\($0.partition)]", $0.detail] }
    return "\(losses.count) losses; timeline \(timeline) \(isTrial ? "would be" : "is") begun above them:\n"
      + TextTable.text(rows)
  }

  private var servesText: String? {
    let held = serves.contains { $0.held > 0 } ? "'handbill traffic held' shows what waits for your decision." : nil
    guard namedServes > 0 else { return held }
    let named = "\(namedServes) ads with events and without a decision \(verb) accepted as lost."
    return held.map { "\(named)\n\($0)" } ?? named
  }

  var json: JSONValue {
    let records = catalog.map { loss -> JSONValue in
      ["isDeleted": .flag(loss.record == nil), "key": .text(loss.key), "version": .integer(loss.version)]
    }
    let losses = losses.map { loss -> JSONValue in
      [
        "service": .text(loss.service), "partition": .integer(loss.partition), "detail": .text(loss.detail),
      ]
    }
    return [
      "catalog": .list(records), "isDryRun": .flag(isTrial), "losses": .list(losses),
      "timeline": timeline.map { .integer($0) } ?? .null, "servesNamed": .integer(namedServes),
      "decisionsLost": .list(serves.map(\.json)),
    ]
  }
}
