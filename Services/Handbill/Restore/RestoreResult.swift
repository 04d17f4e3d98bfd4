internal import JSON
internal import Operations

/// What was done about lost commits, or would be.
struct RestoreResult {
  var isTrial: Bool
  /// Records of the catalogue that were taken back from the topic.
  var catalog: [CatalogLoss]

  var text: String {
    guard !catalog.isEmpty else { return "The catalogue's topic tells of nothing that the database lacks." }
    let rows = catalog.map { loss in
      [
        loss.key, loss.storedVersion.map { "was version \($0)" } ?? "was not there",
        loss.record == nil ? "deleted" : "",
      ]
    }
    let verb = isTrial ? "would be" : "were"
    return "\(catalog.count) records of the catalogue \(verb) taken back from the topic:\n\(TextTable.text(rows))"
  }

  var json: JSONValue {
    let records = catalog.map { loss -> JSONValue in
      ["isDeleted": .flag(loss.record == nil), "key": .text(loss.key), "version": .integer(loss.version)]
    }
    return ["catalog": .list(records), "isDryRun": .flag(isTrial)]
  }
}
