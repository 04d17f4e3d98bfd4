import AdCore
import Crypto
import FuzzTargets
import Testing

@testable import AdEvents

@Suite("The envelope")
struct EnvelopeTests {
  private func headers(_ list: [(String, String)]) -> RecordHeaders {
    var headers = RecordHeaders()
    for (name, value) in list {
      Array(name.utf8).withUnsafeBytes { name in
        Array(value.utf8).withUnsafeBytes { headers.add(name: name, value: $0) }
      }
    }
    return headers
  }

  private let proper = [
    ("content-type", "application/protobuf"), ("ce_specversion", "1.0"), ("ce_id", "id-1"), ("ce_source", "/sdk"),
    ("ce_type", "org.handbill.click.tapped.v1"), ("ce_time", "2010-07-01T12:00:00Z"),
  ]

  private var click: ClickEvent {
    ClickEvent(
      kind: .click, token: [1, 2, 3], age: .milliseconds(0), actionMilliseconds: 2_000, leftApplication: false,
      identity: EventIdentity(idHash: 0, time: nil))
  }

  private func reason(_ list: [(String, String)], _ bytes: [UInt8]? = nil) -> RejectionReason? {
    switch decode(ClickEvent.self, bytes ?? click.encoded(), headers(list)) {
    case .success: nil
    case .failure(let rejection): rejection.reason
    }
  }

  @Test(
    "each attribute that CloudEvents requires is needed",
    arguments: ["ce_specversion", "ce_id", "ce_source", "ce_type"])
  func missing(_ name: String) {
    #expect(reason(proper) == nil)
    #expect(reason(proper.filter { $0.0 != name }) == .invalidEnvelope)
    #expect(reason(proper.map { $0.0 == name ? (name, "") : $0 }) != nil)
  }

  @Test(
    "a type of another topic, of another version or of another kind is unknownType",
    arguments: [
      "org.handbill.click.tapped.v2", "org.handbill.impression.viewed.v1", "org.handbill.click.blocked.v1",
      "com.example.click.v1",
    ])
  func types(_ type: String) {
    #expect(reason(proper.map { $0.0 == "ce_type" ? ("ce_type", type) : $0 }) == .unknownType)
  }

  @Test("a content type that nobody knows, or none, is unknownContentType")
  func contentTypes() {
    #expect(reason(proper.map { $0.0 == "content-type" ? ($0.0, "text/plain") : $0 }) == .unknownContentType)
    #expect(reason(proper.filter { $0.0 != "content-type" }) == .unknownContentType)
    let parameters = proper.map { $0.0 == "content-type" ? ($0.0, "Application/Protobuf; v=1") : $0 }
    #expect(reason(parameters) == nil)
  }

  @Test("a click can be fed by hand: JSON without any header, identified by its own hash")
  func fedByHand() throws {
    let line = Array(#"{"kind":"KIND_CLICK","token":"AQID","ageMilliseconds":0,"action_milliseconds":"2000"}"#.utf8)
    let event = try decode(ClickEvent.self, line, RecordHeaders()).get()
    var expected = click
    expected.identity.idHash = SHA256.hash(line).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    #expect(event == expected)
    // With one attribute there, all are needed.
    #expect(reason([("ce_id", "1")], line) == .invalidEnvelope)
  }

  @Test("what services write cannot be fed by hand")
  func internalByHand() {
    let outcome = decode(CatalogMessage.self, Array("{}".utf8), RecordHeaders())
    guard case .failure(let rejection) = outcome else {
      Issue.record("a record without an envelope was taken")
      return
    }
    #expect(rejection.reason == .invalidInternal)
  }

  @Test("a CloudEvent in structured mode is the same event")
  func structured() throws {
    let attributes =
      #""id":"id-1","source":"/sdk","specversion":"1.0","type":"org.handbill.click.tapped.v1","time":"2010-07-01T12:00:00Z""#
    let type = [("content-type", "application/cloudevents+json; charset=utf-8")]
    let expected = try decode(ClickEvent.self, click.encoded(), headers(proper)).get()
    let data = #""data":{"kind":1,"token":"AQID","ageMilliseconds":"0","actionMilliseconds":2e3}"#
    for payload in [data, #""data_base64":"CAESAwECAxgAINAP""#] {
      let record = Array("{\(attributes),\(payload)}".utf8)
      #expect(try decode(ClickEvent.self, record, headers(type)).get() == expected)
    }
    #expect(reason(type, Array("{\(attributes)}".utf8)) == .missingField)
    #expect(reason(type, Array("{\(data)}".utf8)) == .invalidEnvelope)
    #expect(reason(type, Array(#"{"id":1,\#(data)}"#.utf8)) == .invalidEnvelope)
  }

  @Test("reply headers that are none are invalidReply")
  func reply() {
    var maker = SampleMaker(seed: 1)
    let request = maker.request()
    func reason(_ change: (inout RecordHeaders) -> Void) -> RejectionReason? {
      var headers = properHeaders(.adRequested)
      change(&headers)
      guard case .failure(let rejection) = decode(AdRequest.self, request.encoded(), headers) else { return nil }
      return rejection.reason
    }
    func add(_ name: StaticString, _ value: [UInt8]) -> (inout RecordHeaders) -> Void {
      { headers in
        name.withUTF8Buffer { name in
          value.withUnsafeBytes { headers.add(name: UnsafeRawBufferPointer(name), value: $0) }
        }
      }
    }
    #expect(reason { _ in } == nil)
    #expect(reason { $0.replyPartition = nil } == nil)
    #expect(reason(add("kafka_replyPartition", [255, 255, 255, 255])) == .invalidReply)
    #expect(reason(add("kafka_replyPartition", [0, 0, 1])) == .invalidReply)
    #expect(reason(add("kafka_correlationId", [UInt8](repeating: 1, count: 65))) == .invalidReply)
    #expect(reason(add("kafka_replyTopic", [0xFF])) == .invalidReply)
  }

  @Test(
    "times of RFC 3339",
    arguments: [
      ("2010-07-01T12:00:00Z", 1_277_985_600_000), ("2010-07-01T12:00:00.5Z", 1_277_985_600_500),
      ("2010-07-01t21:00:00.123456789+09:00", 1_277_985_600_123), ("1970-01-01T00:00:00z", 0),
      ("2000-02-29T00:00:00Z", 951_782_400_000), ("2016-12-31T23:59:60Z", 1_483_228_799_000),
      ("2010-02-29T00:00:00Z", nil), ("1900-02-29T00:00:00Z", nil), ("2010-13-01T00:00:00Z", nil),
      ("2010-07-01T24:00:00Z", nil), ("2010-07-01T12:00:00", nil), ("2010-07-01T12:00:00.Z", nil),
      ("2010-07-01T12:00:00+0900", nil), ("1969-12-31T23:59:59Z", nil), ("", nil), ("yesterday", nil),
    ] as [(String, Int64?)])
  func times(_ text: String, _ milliseconds: Int64?) {
    let read = Array(text.utf8).withUnsafeBytes { Timestamp(eventTime: $0) }
    #expect(read == milliseconds.map { Timestamp(milliseconds: $0) })
  }

  @Test("written times read back")
  func writtenTimes() {
    var maker = SampleMaker(seed: 5)
    for _ in 0..<2_000 {
      let time = Timestamp(milliseconds: maker.number(0...FieldLimits.timestampMaximum))
      #expect(time.rfc3339.withUnsafeBytes { Timestamp(eventTime: $0) } == time)
    }
  }
}
