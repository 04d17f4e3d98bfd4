internal import AdCore
internal import AdEvents
internal import Crypto
package import JSON
internal import Pipeline
internal import Records
internal import Runtime

extension KeptRecord {
  /// One record of a list.
  package var json: JSONValue {
    [
      "reference": .text("\(reference)"), "service": .text(reference.service), "topic": .text(reference.topic),
      "partition": .integer(Int64(reference.partition)), "offset": .integer(reference.offset),
      "arrival": .text(arrival.utcText), "reason": .integer(Int64(reasonNumber)),
      "reasonName": .optional(reason?.name), "detail": .text(detail), "valueLength": .integer(valueLength),
      "keptBytes": .integer(keptBytes), "isWhole": .flag(isWhole), "batchNumber": .integer(batchNumber),
      "replayOf": .optional(replayOf),
    ]
  }

  /// A table of records for a terminal.
  package static func table(_ records: CutList<KeptRecord>) -> String {
    guard !records.items.isEmpty else { return "Nothing was rejected.\n" }
    var table = TextTable(["reference", "arrival", "reason", "bytes", "kept", "detail"], rightAligned: [3])
    table.rows = records.items.map { record in
      [
        TextSafety.singleLine("\(record.reference)"), record.arrival.utcText,
        "\(record.reasonNumber) \(record.reason?.name ?? "?")", "\(max(record.valueLength, 0))",
        record.isWhole ? "whole" : record.keptBytes > 0 ? "cut" : "no", TextSafety.singleLine(record.detail),
      ]
    }
    return table.text + (records.cutNote("records", limit: RejectedQuery.rowsLimit).map { $0 + "\n" } ?? "")
  }
}

extension RejectedCount {
  package var json: JSONValue {
    [
      "service": .text(service), "topic": .text(topic), "reason": .integer(Int64(reasonNumber)),
      "reasonName": .optional(reason?.name), "meaning": .optional(reason?.meaning), "records": .integer(records),
      "whole": .integer(whole), "first": .text(first.utcText), "last": .text(last.utcText),
    ]
  }

  /// A table of counts for a terminal.
  package static func table(_ counts: [RejectedCount]) -> String {
    guard !counts.isEmpty else { return "Nothing was rejected.\n" }
    var table = TextTable(
      ["records", "whole", "service", "topic", "reason", "first", "last", "meaning"], rightAligned: [0, 1])
    table.rows = counts.map { count in
      [
        TextTable.grouped(count.records), TextTable.grouped(count.whole), count.service,
        TextSafety.singleLine(count.topic), "\(count.reasonNumber) \(count.reason?.name ?? "?")", count.first.utcText,
        count.last.utcText, count.reason?.meaning ?? "",
      ]
    }
    return table.text
  }
}

/// Everything known of one rejected record.
package struct RejectedStory: Sendable {
  package var record: KeptRecord
  package var batch: RejectingBatch?
  package var outlook: ReplayOutlook

  package init(record: KeptRecord, batch: RejectingBatch?, outlook: ReplayOutlook) {
    self.record = record
    self.batch = batch
    self.outlook = outlook
  }

  package var json: JSONValue {
    let event = KeptEvent(record)
    var members: [JSONValue.Member] = [
      .init("reference", .text("\(record.reference)")), .init("arrival", .text(record.arrival.utcText)),
      .init(
        "reason",
        [
          "number": .integer(Int64(record.reasonNumber)), "name": .optional(record.reason?.name),
          "meaning": .optional(record.reason?.meaning), "whatToDo": .optional(record.reason?.remedy),
        ]),
      .init("detail", .text(record.detail)), .init("batch", batchJSON), .init("replayOf", .optional(record.replayOf)),
      .init("key", record.key.map(RejectedStory.bytes) ?? .null),
      .init(
        "headers",
        record.headers.map { headers in
          .object(
            headers.map { .init(String(decoding: $0.name, as: UTF8.self), RejectedStory.bytes($0.value ?? [])) })
        } ?? .null),
      .init("valueLength", .integer(record.valueLength)), .init("keptBytes", .integer(record.keptBytes)),
      .init("valueSHA256", .text(Hexadecimal.text(record.valueHash))),
      .init("value", record.value.map { .text(Hexadecimal.text($0)) } ?? .null),
    ]
    if let text = record.value.flatMap(RejectedStory.plainText) { members.append(.init("valueText", .text(text))) }
    members.append(.init("event", event.json ?? .null))
    if case .undecodable(let rejection) = event {
      members.append(.init("notDecodable", .text("\(rejection.reason.name): \(rejection.detail)")))
    }
    members.append(.init("token", outlook.terms.map(RejectedStory.terms) ?? .null))
    members.append(.init("replay", ["outlook": .text(outlook.kind.rawValue), "detail": .text(outlook.detail)]))
    return .object(members)
  }

  /// For a terminal: members line by line; long bytes are cut there, and whole as JSON.
  package var text: String { RejectedStory.outline(json, indent: "") }

  private var batchJSON: JSONValue {
    var members: [JSONValue.Member] = [.init("number", .integer(record.batchNumber))]
    if let batch {
      members += [
        .init("committedAt", .text(batch.committedAt.utcText)), .init("firstOffset", .integer(batch.firstOffset)),
        .init("nextOffset", .integer(batch.nextOffset)),
        .init("firstArrival", .optional(batch.arrivals?.lowerBound.utcText)),
        .init("lastArrival", .optional(batch.arrivals?.upperBound.utcText)),
      ]
    }
    return .object(members)
  }

  private static func terms(_ terms: ServedTerms) -> JSONValue {
    [
      "serveId": .text("\(terms.serveID)"), "issuedAt": .text(terms.issuedAt.utcText),
      "expiresAt": .text(terms.expiresAt.utcText), "partition": .integer(Int64(terms.partition)),
      "app": .text(terms.app.text), "campaign": .text(terms.campaign.text), "ad": .text(terms.ad.text),
      "isTest": .flag(terms.isTest),
    ]
  }

  /// Text where it is plain, else hexadecimal digits behind `0x`.
  private static func bytes(_ bytes: [UInt8]) -> JSONValue {
    .text(plainText(bytes) ?? "0x" + Hexadecimal.text(bytes))
  }

  /// The text, if it is UTF-8 without controls but line ends and tabs.
  private static func plainText(_ bytes: [UInt8]) -> String? {
    guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let isPlain = text.unicodeScalars.allSatisfy {
      $0 == "\n" || $0 == "\t" || $0.properties.generalCategory != .control
    }
    return isPlain ? text : nil
  }

  private static func outline(_ value: JSONValue, indent: String) -> String {
    guard case .object(let members) = value else { return "" }
    let width = members.map(\.name.count).max() ?? 0
    return members.map { member in
      let name = TextSafety.singleLine(member.name)
      if case .object(let inner) = member.value, !inner.isEmpty {
        return "\(indent)\(name)\n" + outline(member.value, indent: indent + "  ")
      }
      let room = String(repeating: " ", count: max(0, width - name.count))
      let text =
        switch member.value {
        case .null: "–"
        case .text(let text): TextSafety.singleLine(text)
        default: member.value.compactText
        }
      return "\(indent)\(name)\(room)  \(text)\n"
    }.joined()
  }
}
