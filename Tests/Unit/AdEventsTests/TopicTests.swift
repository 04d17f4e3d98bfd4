import AdCore
import Foundation
import FuzzTargets
import JSON
import Records
import TestServers
import Testing

@testable import AdEvents

@Suite("Topics and their description")
struct TopicTests {
  private let path = Program.root + "/docs/asyncapi.yaml"

  @Test("docs/asyncapi.yaml is what the code says (UPDATE_DOCUMENTS=1 writes it)")
  func document() throws {
    if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] == "1" {
      try AsyncAPI.document().write(toFile: path, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == AsyncAPI.document())
  }

  @Test("S8: the schema's sizes are the program's (UPDATE_DOCUMENTS=1 writes them; build again after that)")
  func sizes() throws {
    let path = Program.root + "/Shared/AdEvents/Schema/handbill/v1/common.proto"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let lines = AdSize.allCases.map { "  AD_SIZE_\(Self.constant("\($0)")) = \($0.rawValue);\n" }
    let start = try #require(text.range(of: "enum AdSize {\n  AD_SIZE_UNSPECIFIED = 0;\n")).upperBound
    let end = try #require(text.range(of: "}", range: start..<text.endIndex)).lowerBound
    let whole = text[..<start] + lines.joined() + text[end...]
    if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] == "1" {
      try whole.write(toFile: path, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == whole)
  }

  @Test("what the schema enumerates are the program's vocabularies")
  func vocabularies() throws {
    func expect<Words: Vocabulary>(_: Words.Type, _ message: String, _ field: String) throws {
      let shape = try #require(MessageShape.all["handbill.v1.\(message)"]?.fields.first { $0.name == field })
      guard case .choice(let values) = shape.kind else {
        Issue.record("\(message).\(field) is no choice")
        return
      }
      let schema = values.filter { !$0.name.hasSuffix("UNSPECIFIED") }.map { "\($0.number) \($0.name)" }
      let own = Words.allCases.map { ($0.number, Self.constant("\($0)")) }
      #expect(schema.count == own.count)
      for (value, word) in zip(schema.sorted(), own.map { "\($0.0) \($0.1)" }.sorted()) {
        #expect(value.split(separator: " ")[0] == word.split(separator: " ")[0])
        #expect(value.hasSuffix(word.split(separator: " ")[1]), "\(value), \(word)")
      }
    }
    try expect(AdSize.self, "AdImage", "size")
    try expect(Device.self, "AdRequest", "device")
    try expect(ClickVerdict.self, "AcceptedEvent", "verdict")
    try expect(TapKind.self, "ClickEvent", "kind")
    try expect(ConversionKind.self, "Conversion", "kind")
    try expect(AdAction.Kind.self, "AdAction", "kind")
    try expect(AdError.self, "ImpressionEvent", "error")
  }

  @Test("What anybody writes is unpacked by the broker; what clients write is small, and has the broker's time")
  func clientTopics() {
    for topic in Topic.allCases {
      let settings = topic.settings(networkPartitions: 4).configuration
      #expect(settings["compression.type"] == "uncompressed")
      #expect(settings["message.timestamp.type"] == (topic.isWrittenByClients ? "LogAppendTime" : "CreateTime"))
      let bytes = settings["max.message.bytes"].flatMap { Int($0) } ?? .max
      // What producers make by default, and what a reader must be able to hold.
      #expect((1_000_000...(topic.isWrittenByClients ? 1_048_588 : 2_097_152)).contains(bytes))
    }
  }

  /// A case's name as the schema writes constants.
  private static func constant(_ name: String) -> String {
    name.reduce(into: "") { text, letter in text += (letter.isUppercase ? "_" : "") + letter.uppercased() }
  }

  /// The schema lies beside the repository where it is checked, or where the environment says.
  private static let asyncAPISchema: String? = {
    let named = ProcessInfo.processInfo.environment["ASYNCAPI_SCHEMA"]
    let path = named ?? Program.root + "/../shared/conformance/asyncapi-3.0.0.schema.json"
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()

  @Test(
    "docs/asyncapi.yaml keeps AsyncAPI 3.0's schema", .enabled(if: ConformancePython.path != nil),
    .enabled(if: asyncAPISchema != nil))
  func schema() throws {
    let script = Program.root + "/Tests/Conformance/asyncapi_document.py"
    let outcome = try Program.run([
      try #require(ConformancePython.path), script, try #require(Self.asyncAPISchema), path,
    ])
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  private func name(of header: RecordHeader) -> String { String(decoding: header.name, as: UTF8.self) }

  @Test("the description of a record's headers says exactly what is taken", .enabled(if: ConformancePython.path != nil))
  func headers() throws {
    var maker = SampleMaker(seed: 5)
    let click = maker.click()
    let json = try click.json().get().compactText
    let attributes = CloudEventHeaders(type: click.eventType, source: "/test")
      .headers(id: "1", time: .init(milliseconds: 0))
      .filter { ["ce_specversion", "ce_id", "ce_source", "ce_type"].contains(name(of: $0)) }
    let event = attributes.map { "\"\(name(of: $0).dropFirst(3))\":\"\($0.text)\"" }
    let structured = "{\(event.joined(separator: ",")),\"data\":\(json)}"
    let values = [click.encoded(), Array(json.utf8), Array(structured.utf8)]
    var input = ""
    var expected: [Bool] = []
    for contentType in [nil, "application/protobuf", "application/json", "application/cloudevents+json", "text/plain"] {
      for chosen in 0..<1 << attributes.count {
        var headers = attributes.indices.filter { chosen >> $0 & 1 == 1 }.map { attributes[$0] }
        if let contentType { headers.append(RecordHeader("content-type", contentType)) }
        var read = RecordHeaders()
        for header in headers { read.add(header) }
        expected.append(
          values.contains { bytes in
            bytes.withUnsafeBytes {
              if case .success = ClickEvent.decode(value: $0, headers: read) { true } else { false }
            }
          })
        let members = headers.map { "\"\(name(of: $0))\":\"\($0.text)\"" }
        input += "{\(members.joined(separator: ","))}\n"
      }
    }
    let script = Program.root + "/Tests/Conformance/asyncapi_headers.py"
    let outcome = try Program.run([try #require(ConformancePython.path), script, path, "ClickEvent"], input: input)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.output.split(separator: "\n").map { $0 == "valid" } == expected)
    #expect(expected.count { $0 } > 10)
  }

  @Test("each field's limits stand in its description too, for readers of the schema's files")
  func limits() throws {
    for (name, shape) in MessageShape.all where !FieldRules.required(of: AsyncAPISchemas.shortName(name)).isEmpty {
      let message = AsyncAPISchemas.shortName(name)
      for field in shape.fields {
        let rules =
          FieldRules.value(of: field.jsonName, in: message) + FieldRules.list(of: field.jsonName, in: message)
        // A slug's limit stands in its pattern, a base64's is that of its bytes.
        guard !rules.contains(where: { $0.key == "pattern" }), field.kind.isText || field.kind.isNumber else {
          continue
        }
        for case (let key, .number(let limit)) in rules where ["maxLength", "maximum", "maxItems"].contains(key) {
          let comment = AsyncAPISchemas.comment(message, field.name)
          #expect(comment.contains("\(limit)"), "\(message).\(field.name): \(comment)")
        }
      }
    }
  }

  @Test("every message and every field of the schema is described")
  func comments() {
    for (name, shape) in MessageShape.all {
      let message = AsyncAPISchemas.shortName(name)
      #expect(AsyncAPISchemas.comment(message).count > 10, "\(message)")
      for field in shape.fields {
        #expect(AsyncAPISchemas.comment(message, field.name).count > 5, "\(message).\(field.name)")
      }
    }
  }

  @Test("docs/protocol.md names every ce_type that a client writes or reads, and every field of a request and of an ad")
  func protocolPage() throws {
    let page = try String(contentsOfFile: Program.root + "/docs/protocol.md", encoding: .utf8)
    for topic in Topic.allCases where topic.isWrittenByClients || topic == .responses {
      for type in topic.message.eventTypes { #expect(page.contains("`\(type.name)`"), "\(type)") }
    }
    for message in ["AdRequest", "ServedAd"] {
      let shape = try #require(MessageShape.all["handbill.v1.\(message)"])
      for field in shape.fields { #expect(page.contains("| `\(field.name)` |"), "\(message).\(field.name)") }
    }
  }

  @Test("an app's answers go to a topic made from its id")
  func responses() throws {
    let app = try #require(AppID("my-app"))
    #expect(Topic.responses(for: app) == "ads.responses.my-app")
    let settings = Topic.responseSettings(for: app, networkPartitions: 6)
    #expect(settings.name == "ads.responses.my-app")
    #expect(settings.partitions == 6)
  }

  @Test("what clients write has the broker's time; the catalogue is compacted and has one partition")
  func settings() {
    let all = Topic.networkSettings(networkPartitions: 12)
    #expect(Set(all.map(\.name)).count == 10)
    let stamped = all.filter { $0.configuration["message.timestamp.type"] == "LogAppendTime" }.map(\.name)
    #expect(Set(stamped) == ["ads.requests", "ads.impressions", "ads.clicks"])
    #expect(all.filter { $0.configuration["cleanup.policy"] == "compact" }.map(\.name) == ["ads.catalog"])
    #expect(all.filter { $0.partitions != 12 }.map(\.name) == ["ads.catalog"])
    #expect(all.allSatisfy { ($0.configuration["retention.ms"] == nil) == ($0.name == "ads.catalog") })
    // Who starts reads all of it, and it is written again and again: little of what was replaced may lie there.
    let compaction = ["segment.bytes", "min.cleanable.dirty.ratio", "max.compaction.lag.ms"]
    #expect(
      all.allSatisfy { topic in
        compaction.allSatisfy { (topic.configuration[$0] != nil) == (topic.name == "ads.catalog") }
      })
  }

  @Test("a record goes soon after its time: no segment is written for longer than a small part of it")
  func segments() throws {
    for topic in Topic.networkSettings(networkPartitions: 12) {
      let segment = try #require(topic.configuration["segment.ms"].flatMap(Int64.init), "\(topic.name)")
      guard let retention = topic.configuration["retention.ms"].flatMap(Int64.init) else { continue }
      #expect(segment * 6 <= retention, "\(topic.name)")
    }
  }

  @Test("A8: a topic that is there keeps its time within what is promised of clients, and segments follow")
  func ownRetention() {
    let names = ["retention.ms", "segment.ms"]
    let topics = Topic.networkSettings(networkPartitions: 12)
    let day: Int64 = 86_400_000
    for topic in topics {
      #expect(topic.keepingRetention(of: topic.configuration) == topic && topic.keepingRetention(of: [:]) == topic)
      let longest: Int64? =
        switch topic.name {
        case "ads.catalog": nil
        case "ads.responses.edge": day / 24
        case "ads.requests": day
        case "ads.rejected": 30 * day
        default: 90 * day
        }
      let isFixed = ["ads.requests", "ads.responses.edge"].contains(topic.name)
      for own in [-1, 1_000, day / 24, day, 30 * day, 30 * day + 1, 90 * day, 90 * day + 1, .max] {
        let kept = topic.keepingRetention(of: ["retention.ms": "\(own)", "segment.ms": "1"])
        let isPromised = longest.map { (0...$0).contains(own) } ?? true
        #expect(topic.promise(brokenBy: "\(own)") == (isPromised ? nil : longest), "\(topic.name) \(own)")
        guard isPromised, longest != nil, !isFixed else {
          #expect(kept == topic, "\(topic.name) \(own)")
          continue
        }
        let segment = max(600_000, own / 24)
        #expect(names.map { kept.configuration[$0] } == ["\(own)", "\(segment)"], "\(topic.name)")
        let others = [kept, topic].map { $0.configuration.filter { !names.contains($0.key) } }
        #expect(others[0] == others[1], "\(topic.name)")
      }
    }
  }

  @Test("every ce_type belongs to exactly one topic, but for the watermark's")
  func types() {
    for type in EventType.allCases where type != .watermarkPassed {
      #expect(Topic.allCases.filter { $0.message.eventTypes.contains(type) }.count == 1, "\(type)")
    }
  }
}

extension MessageShape.Kind {
  fileprivate var isText: Bool { if case .string = self { true } else { false } }
  fileprivate var isNumber: Bool { if case .uint64 = self { true } else { false } }
}
