import AdCore
import Foundation
import FuzzTargets
import JSON
import Testing

@testable import AdEvents

@Suite("What can be read of a rejected request")
struct LegibleRequestTests {
  private func request() -> AdRequest {
    var maker = SampleMaker(seed: 3)
    var request = maker.request()
    (request.clientID, request.sessionID) = ("client", "session")
    return request
  }

  private func legible(_ bytes: [UInt8], _ headers: RecordHeaders? = nil) -> LegibleRequest? {
    let headers = headers ?? properHeaders(.adRequested)
    let outcome = bytes.withUnsafeBytes { AdRequest.decodeLegibly(value: $0, headers: headers) }
    guard case .failure(let rejected) = outcome else {
      Issue.record("it was taken")
      return nil
    }
    return rejected.legible
  }

  private func spoiled(_ write: (inout WireWriter) -> Void) -> [UInt8] {
    var writer = WireWriter(output: request().encoded())
    write(&writer)
    return writer.output
  }

  @Test("everything behind and before a wrong field is read; where the bytes are no protobuf any more, reading ends")
  func fields() throws {
    let sound = LegibleRequest(request())
    var writer = WireWriter()
    writer.text(4, "end of game")
    let read = try #require(legible(writer.output + request().encoded() + [0x22, 1, 0x20]))
    #expect(read.requestID == sound.requestID && read.app == sound.app && read.appKey == sound.appKey)
    #expect(read.country == sound.country && read.device == sound.device && read.clientKey == "client")
    #expect(read.deadlineMilliseconds == sound.deadlineMilliseconds)
    #expect(legible(spoiled { $0.text(12, "now") })?.requestID == sound.requestID)
    // A wrong wire type in the first field leaves nothing to answer.
    #expect(legible([0x08, 1] + request().encoded()) == nil)
  }

  @Test("the client's place is its client id, else its session id, and nobody's where the client id is none")
  func clientKey() throws {
    var value = request()
    value.clientID = ""
    var writer = WireWriter(output: value.encoded())
    writer.text(7, "us")
    #expect(legible(writer.output)?.clientKey == "session")
    #expect(legible(spoiled { $0.text(5, String(repeating: "c", count: 129)) })?.clientKey == nil)
    #expect(legible(spoiled { $0.presentText(6, "") })?.clientKey == "client")
    value.sessionID = ""
    #expect(try #require(legible(value.encoded())).clientKey == nil)
  }

  @Test("in JSON and in structured mode a field of another type is left out, and the others are read")
  func json() throws {
    let sound = try request().json().get().compactText
    let wrong = sound.replacing("\"placement\":\"", with: "\"deadlineMilliseconds\":{},\"placement\":\"")
      .replacing(",\"deadlineMilliseconds\":\"\(request().deadlineMilliseconds)\"", with: "")
    var headers = properHeaders(.adRequested)
    headers.contentType = .json
    let plain = try #require(legible(Array(wrong.utf8), headers))
    #expect(plain.requestID == request().requestID && plain.deadlineMilliseconds == nil)
    headers.contentType = .absent
    #expect(legible(Array(wrong.utf8), headers) == plain)
    headers.contentType = .cloudEventsJSON
    let event = #"{"specversion":"1.0","id":"1","source":"/s","type":"org.handbill.ad.requested.v1","data":\#(wrong)}"#
    #expect(legible(Array(event.utf8), headers) == plain)
    #expect(legible(Array("{\"requestId\": 12, \"app\": [".utf8), headers) == nil)
  }

  @Test("an envelope that lacks something hides nothing; a reply that is none is no place to answer to")
  func envelope() throws {
    var headers = properHeaders(.adRequested)
    headers.contentType = .absent
    #expect(legible(request().encoded(), headers)?.requestID == request().requestID)
    headers = properHeaders(.adRequested)
    headers.hasSource = false
    #expect(legible(request().encoded(), headers)?.replyPartition == headers.replyPartition)
    for (name, value) in [("kafka_replyPartition", [1, 2]), ("kafka_replyTopic", [0xFF])] as [(String, [UInt8])] {
      var headers = properHeaders(.adRequested)
      Array(name.utf8).withUnsafeBytes { name in value.withUnsafeBytes { headers.add(name: name, value: $0) } }
      #expect(try #require(legible(request().encoded(), headers)).replyPartition == nil)
    }
  }

  @Test("what is too large is read up to a bound, and not beyond")
  func size() {
    let large = spoiled { $0.presentBytes(99, [UInt8](repeating: 0, count: FieldLimits.clientValueBytesMaximum)) }
    #expect(legible(large)?.requestID == request().requestID)
    let larger = spoiled { $0.presentBytes(99, [UInt8](repeating: 0, count: FieldLimits.legibleValueBytesMaximum)) }
    #expect(legible(larger) == nil)
  }

  /// A value at the limit is taken, one beyond it is rejected, and the sentence says the limit.
  @Test("the limits that AsyncAPI tells are those that the decoder keeps, and its sentence says them")
  func limits() throws {
    func detail(_ bytes: [UInt8]) -> String? {
      let outcome = bytes.withUnsafeBytes { AdRequest.decode(value: $0, headers: properHeaders(.adRequested)) }
      if case .failure(let rejection) = outcome { return rejection.detail } else { return nil }
    }
    func expect(_ limit: Int, _ write: (inout WireWriter, Int) -> Void) {
      #expect(detail(spoiled { write(&$0, limit) }) == nil)
      #expect(detail(spoiled { write(&$0, limit + 1) })?.contains("\(limit)") == true)
    }
    for (number, field) in [
      (2, "appKey"), (3, "app"), (4, "placement"), (5, "clientId"), (6, "sessionId"), (10, "currentSize"),
    ]
      as [(UInt32, String)]
    {
      expect(try rule(of: field, "maxLength")) { $0.text(number, String(repeating: "a", count: $1)) }
    }
    var bare = request()
    (bare.requiredSizes, bare.segments) = ([], [])
    for (number, field) in [(9, "requiredSizes"), (13, "segments")] as [(UInt32, String)] {
      let most = try rule(of: field, "maxItems")
      let longest = try rule(of: field, "maxLength")
      for (count, length, isTaken) in [(most, longest, true), (most + 1, 1, false), (1, longest + 1, false)] {
        var writer = WireWriter(output: bare.encoded())
        for _ in 0..<count { writer.presentText(number, String(repeating: "a", count: length)) }
        let detail = detail(writer.output)
        #expect((detail == nil) == isTaken)
        if let detail { #expect(detail.contains(count > most ? "\(most)" : "\(longest)")) }
      }
    }
    expect(try rule(of: "deadlineMilliseconds", "maximum")) { $0.unsigned(12, UInt64($1)) }
    let shortest = try rule(of: "deadlineMilliseconds", "minimum")
    #expect(detail(spoiled { $0.presentUnsigned(12, UInt64(shortest - 1)) }) != nil)
    for field in FieldRules.required(of: "AdRequest") {
      let shape = try #require(MessageShape.all[AdRequest.schemaName]?.fields.first { $0.jsonName == field })
      let empty = spoiled { writer in
        switch shape.kind {
        case .string, .bytes: writer.presentBytes(shape.number, [])
        default: writer.presentUnsigned(shape.number, 0)
        }
      }
      #expect(detail(empty)?.hasPrefix("\(shape.name) is missing") == true, "\(field)")
    }
  }

  @Test("the schema's comments say the same limits")
  func schema() throws {
    let text = try String(
      contentsOfFile: Program.root + "/Shared/AdEvents/Schema/handbill/v1/request.proto", encoding: .utf8)
    let deadline = FieldLimits.deadlineMilliseconds
    for said in [
      "at most \(FieldLimits.clientValueBytesMaximum) bytes", "(A1): 1 to \(FieldLimits.appKeyBytesMaximum) bytes",
      "1 to \(Slug.bytesMaximum) of a-z", "At most \(FieldLimits.clientIDBytesMaximum) bytes.",
      "at most \(FieldLimits.sizesMaximum) of at most \(FieldLimits.sizeIdentifierBytesMaximum) bytes",
      "\(deadline.lowerBound) to \(deadline.upperBound). Required",
      "at most \(FieldLimits.requestSegmentsMaximum) of at most \(FieldLimits.labelBytesMaximum) bytes",
    ] { #expect(text.contains(said), "\(said)") }
  }

  private struct Missing: Error {}

  /// The number that AsyncAPI tells of a field of a request.
  private func rule(of field: String, _ name: String) throws -> Int {
    let members = FieldRules.value(of: field, in: "AdRequest") + FieldRules.list(of: field, in: "AdRequest")
    guard case .number(let number)? = members.first(where: { $0.key == name })?.value else { throw Missing() }
    return Int(number)
  }
}
