import AdCore
import Foundation
import FuzzTargets
import Testing

@testable import AdEvents

@Suite("A record with several mistakes")
struct AllMistakesTests {
  private let sound: AdRequest

  init() {
    var maker = SampleMaker(seed: 7)
    sound = maker.request()
  }

  private func rejection<Message: EventMessage>(
    _: Message.Type, _ bytes: [UInt8], _ headers: RecordHeaders
  ) throws -> Rejection {
    let outcome = bytes.withUnsafeBytes { Message.decode(value: $0, headers: headers) }
    guard case .failure(let rejection) = outcome else { throw Rejection(.invalidField, "it was taken") }
    return rejection
  }

  private func json(_ headers: RecordHeaders) -> RecordHeaders {
    var headers = headers
    headers.contentType = .json
    return headers
  }

  @Test("a request is told all of its mistakes at once, by the number of the first")
  func request() throws {
    var writer = WireWriter(output: sound.encoded())
    writer.text(4, "end of game")
    writer.text(7, "us")
    writer.presentUnsigned(8, 7)
    writer.presentUnsigned(12, 0)
    writer.text(4, "end of game")
    let found = try rejection(AdRequest.self, writer.output, properHeaders(.adRequested))
    #expect(found.reason == .invalidField)
    #expect(
      found.detail
        == "placement is not a slug: 1 to 40 of a-z, 0-9 and -, the first not -; country is not a country's two letters in "
        + "upper case, such as US; device has the unknown number 7: give one of 1 (phone), 2 (pad)"
        + "; deadline_milliseconds is missing or 0: give 1 to 60000")
  }

  @Test("behind very many fields that are wrong nobody reads on, nor says what is missing")
  func wrongFields() throws {
    var writer = WireWriter()
    for _ in 0..<300 { writer.presentUnsigned(8, 7) }
    writer.text(7, "us")
    let found = try rejection(AdRequest.self, writer.output, properHeaders(.adRequested))
    #expect(found.detail == "device has the unknown number 7: give one of 1 (phone), 2 (pad)")
  }

  @Test("in JSON, too; what was wrong is not missing besides")
  func requestInJSON() throws {
    let text = """
      {"requestId": 7, "app": "Chess", "placement": "home", "sessionId": "s", "country": 1, "device": "tablet",
       "requiredSizes": ["portrait", 3], "isInterstitial": "yes", "deadlineMilliseconds": -1}
      """
    let found = try rejection(AdRequest.self, Array(text.utf8), json(properHeaders(.adRequested)))
    let told = found.detail.components(separatedBy: "; ")
    #expect(
      told.map { String($0.prefix { $0 != " " }) } == [
        "request_id", "country", "device", "an", "is_interstitial", "deadline_milliseconds", "app",
        "app_key",
      ], "\(found.detail)")
    #expect(!found.detail.contains("request_id is missing"))
  }

  @Test(
    "what its headers lack is told with what its fields lack; of another topic's record nothing else is")
  func envelope() throws {
    var headers = RecordHeaders()
    headers.contentType = .protobuf
    headers.type = .known(.adRequested)
    var writer = WireWriter(output: sound.encoded())
    writer.text(7, "us")
    let found = try rejection(AdRequest.self, writer.output, headers)
    #expect(found.reason == .invalidEnvelope)
    for word in ["ce_id is missing", "ce_source", "ce_specversion", "country"] {
      #expect(found.detail.contains(word), "\(found.detail)")
    }
    let astray = try rejection(AdRequest.self, [], properHeaders(.clickTapped)).detail
    #expect(astray == "the value is empty")
    let other = try rejection(AdRequest.self, [8, 1], properHeaders(.clickTapped)).detail
    #expect(other.hasPrefix("ce_type belongs to another topic") && !other.contains(";"), "\(other)")
  }

  @Test("where the bytes end to be protobuf nothing is called missing")
  func cut() throws {
    let found = try rejection(AdRequest.self, [0x3A, 2, 0x75, 0x73, 0x22, 9], properHeaders(.adRequested))
    #expect(
      found.detail
        == "country is not a country's two letters in upper case, such as US; the message ends within a field")
  }

  @Test("events are told all of theirs by the same means")
  func events() throws {
    var writer = WireWriter()
    writer.presentUnsigned(1, 9)
    writer.message(3) { writer in
      writer.text(2, "Chess")
      writer.text(3, "end of game")
    }
    writer.presentUnsigned(5, 99)
    let impression = try rejection(ImpressionEvent.self, writer.output, properHeaders(.impressionFailed))
    let told = impression.detail.components(separatedBy: "; ").map { String($0.prefix { $0 != " " }) }
    #expect(
      told == [
        "kind", "error", "request.app", "request.placement", "request.request_id", "request.session_id",
        "request.app_key",
      ],
      "\(impression.detail)")
    let click = try rejection(ClickEvent.self, [8, 9], properHeaders(.clickTapped))
    #expect(
      click.detail.hasPrefix("kind has the unknown number 9: give one of 1 (")
        && click.detail.hasSuffix("; token is missing"))
    let text = #"{"kind": "KIND_FAILED", "request": {"requestId": "?", "app": 3}}"#
    let nested = try rejection(ImpressionEvent.self, Array(text.utf8), json(properHeaders(.impressionFailed))).detail
    #expect(
      nested.hasPrefix("request.request_id is not base64; request.app is not a string; request.placement is"),
      "\(nested)")
    #expect(nested.hasSuffix("request.app_key is missing; error is missing"), "\(nested)")
  }

  @Test("the list is bounded, and says that there are more")
  func bounded() throws {
    var writer = WireWriter(output: sound.encoded())
    for length in 129..<169 { writer.text(6, String(repeating: "s", count: length)) }
    let detail = try rejection(AdRequest.self, writer.output, properHeaders(.adRequested)).detail
    #expect(detail.hasSuffix("128 may be; and more"), "\(detail)")
    #expect(detail.utf8.count < FieldLimits.detailBytesMaximum)
  }
}
