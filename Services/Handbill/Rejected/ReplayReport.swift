internal import AdCore
internal import JSON
internal import Operations
internal import Runtime

/// What a replay sent, or would send.
struct ReplayReport: Sendable {
  var rows: [(KeptRecord, ReplayOutlook)]
  var sendable: Int
  /// How many records Kafka took; nil for a trial.
  var sent: Int?
  /// Whether there are more records than the limit took, and which of them these are.
  var isCut: Bool
  var cutNote: String?

  /// Whether all that was selected was sent, or would be.
  var isComplete: Bool { sendable == rows.count && (sent ?? sendable) == sendable }

  var json: JSONValue {
    [
      "selected": .integer(Int64(rows.count)), "isCut": .flag(isCut), "sendable": .integer(Int64(sendable)),
      "sent": sent.map { .integer(Int64($0)) } ?? .null,
      "records": .list(
        rows.map { record, outlook in
          [
            "reference": .text("\(record.reference)"), "reason": .integer(Int64(record.reasonNumber)),
            "outlook": .text(outlook.kind.rawValue), "detail": .text(outlook.detail),
          ]
        }),
    ]
  }

  var text: String {
    guard !rows.isEmpty else { return "Nothing of that was rejected.\n" }
    var table = Operations.TextTable(["reference", "reason", "now", "detail"])
    table.rows = rows.map { record, outlook in
      [
        TextSafety.singleLine("\(record.reference)"), "\(record.reasonNumber) \(record.reason?.name ?? "?")",
        outlook.kind.rawValue, TextSafety.singleLine(outlook.detail),
      ]
    }
    let end =
      sent.map { "Sent \($0) of \(sendable) that can be sent, of \(rows.count) selected.\n" }
      ?? "Would send \(sendable) of \(rows.count). Nothing was sent.\n"
    return table.text + (cutNote.map { $0 + "\n" } ?? "") + end
  }
}
