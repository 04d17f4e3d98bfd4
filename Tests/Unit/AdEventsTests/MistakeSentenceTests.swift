import AdCore
import FuzzTargets
import JSON
import Records
import Testing

@testable import AdEvents

@Suite("What is said of a mistake")
struct MistakeSentenceTests {
  private func request() -> AdRequest {
    var maker = SampleMaker(seed: 5)
    return maker.request()
  }

  private func rejected(_ bytes: [UInt8], _ headers: RecordHeaders) throws -> RejectedRequest {
    let outcome = bytes.withUnsafeBytes { AdRequest.decodeLegibly(value: $0, headers: headers) }
    guard case .failure(let rejected) = outcome else { throw Rejection(.invalidField, "it was taken") }
    return rejected
  }

  private func headers(_ changes: RecordHeader...) -> RecordHeaders {
    var headers = properHeaders(.adRequested)
    for header in changes { headers.add(header) }
    return headers
  }

  @Test("A name that is none is answered with those that there are")
  func names() throws {
    let json = try request().json().get().compactText
    let device = try #require(json.firstMatch(of: #/"device":"([^"]*)"/#)).output.1
    let bytes = Array(json.replacing("\"device\":\"\(device)\"", with: "\"device\":\"tablet\"").utf8)
    let detail = try rejected(bytes, headers(RecordHeader("content-type", "application/json"))).rejection.detail
    let shape = try #require(MessageShape.all[AdRequest.schemaName]?.fields.first { $0.jsonName == "device" })
    guard case .choice(let names) = shape.kind else {
      Issue.record("a device has names")
      return
    }
    for name in names { #expect(detail.contains(name.name) == (name.number != 0), "\(name.name) in: \(detail)") }
  }

  @Test("A header that is none is answered with what it may be")
  func headersOfMistakes() throws {
    let bytes = request().encoded()
    for type in ["org.handbill.ad.wanted.v1", "org.handbill.click.tapped.v1"] {
      let detail = try rejected(bytes, headers(RecordHeader("ce_type", type))).rejection.detail
      #expect(detail.contains("org.handbill.ad.requested.v1"), "\(detail)")
    }
    let content = try rejected(bytes, headers(RecordHeader("content-type", "text/plain"))).rejection.detail
    for name in ["application/protobuf", "application/json", "application/cloudevents+json"] {
      #expect(content.contains(name), "\(content)")
    }
    let reply = try rejected(bytes, headers(RecordHeader("kafka_replyPartition", "12"))).rejection.detail
    #expect(reply == "kafka_replyPartition has 2 bytes: give 4, the number big-endian")
  }

  @Test(
    "A request id written as text is told from others that are none, and says whom to answer", arguments: [true, false])
  func textualID(isJSON: Bool) throws {
    let sound = request()
    let text = "\(sound.requestID)"
    let bytes: [UInt8]
    if isJSON {
      let json = try sound.json().get().compactText
      let id = try #require(json.firstMatch(of: #/"requestId":"([^"]*)"/#)).output.1
      bytes = Array(json.replacing("\"requestId\":\"\(id)\"", with: "\"requestId\":\"\(text)\"").utf8)
    } else {
      var writer = WireWriter()
      writer.text(1, text)
      // Behind it all other fields; the sound id among them is the first 18 bytes.
      bytes = writer.output + sound.encoded().dropFirst(18)
    }
    let found = try rejected(bytes, isJSON ? headers(RecordHeader("content-type", "application/json")) : headers())
    #expect(
      found.rejection
        == Rejection(
          .invalidField, "request_id is a UUID written as text: give its 16 bytes, in JSON as base64"))
    #expect(found.legible?.requestID == sound.requestID)
  }

  @Test("A request id of another version says whom to answer, and what to give")
  func otherVersion() throws {
    let sound = request()
    var writer = WireWriter()
    writer.uuid(1, high: sound.requestID.high & ~0xF000 | 0x4000, low: sound.requestID.low)
    let found = try rejected(writer.output + sound.encoded().dropFirst(18), headers())
    #expect(found.rejection.detail == "request_id is not a UUID of version 7, which begins with the time")
    #expect(found.legible?.requestID.low == sound.requestID.low)
    #expect(found.legible?.requestID.description.split(separator: "-")[2].first == "4")
  }

  @Test("Of a list it is an entry that is wrong, in both forms")
  func entries() throws {
    var sound = request()
    sound.segments = [String(repeating: "s", count: 65)]
    #expect(try rejected(sound.encoded(), headers()).rejection.detail.hasPrefix("an entry of segments has 65 bytes"))
    let json = #"{"segments": [1]}"#
    let found = try rejected(Array(json.utf8), headers(RecordHeader("content-type", "application/json")))
    #expect(found.rejection.detail.hasPrefix("an entry of segments is not a string; "), "\(found.rejection.detail)")
  }

  @Test("Other bytes are no UUID, whatever their number", arguments: [15, 17, 27, 36])
  func otherID(count: Int) throws {
    var writer = WireWriter()
    writer.presentBytes(1, [UInt8](repeating: 0x2D, count: count))
    let found = try rejected(writer.output + request().encoded().dropFirst(18), headers())
    #expect(found.rejection.detail == "request_id is not a version 7 UUID of 16 bytes")
    #expect(found.legible == nil)
  }
}
