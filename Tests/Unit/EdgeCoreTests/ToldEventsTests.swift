import AdCore
import AdEvents
import JSON
import Records
import TestValues
import Testing

@testable import EdgeCore

@Suite("What devices tell the edge")
struct ToldEventsTests {
  private static func impression(_ age: Int64 = 1_000) -> ImpressionEvent {
    ImpressionEvent(
      kind: .viewed, subject: .serve(token: [1, 2, 3]), age: .milliseconds(age), error: nil,
      identity: EventIdentity(idHash: 0, time: nil))
  }

  private static let click = ClickEvent(
    kind: .click, token: [1, 2, 3], age: .milliseconds(1_200), actionMilliseconds: 2_000, leftApplication: false,
    identity: EventIdentity(idHash: 0, time: nil))

  /// A batch in protobuf, written by hand.
  private static func batch(_ events: [(id: String, field: UInt32, value: [UInt8])], key: String = "live") -> [UInt8] {
    var writer = WireWriter()
    writer.text(1, key)
    writer.text(2, "client-1")
    for event in events {
      writer.message(3) { writer in
        writer.text(1, event.id)
        writer.unsigned(2, 1_278_000_000_000)
        writer.presentBytes(event.field, event.value)
      }
    }
    return writer.output
  }

  private func read(_ body: [UInt8], _ headers: [String: String]) -> Result<ToldEvents, EdgeRefusal> {
    do throws(EdgeRefusal) {
      return .success(try UnreadEvents(body) { headers[$0] }.read { _ in })
    } catch { return .failure(error) }
  }

  private static let protobuf = ["content-type": "application/protobuf"]

  private func headers(_ event: DeviceEvent) -> [String: String] {
    Dictionary(uniqueKeysWithValues: event.headers.map { (String(decoding: $0.name, as: UTF8.self), $0.text) })
  }

  @Test("a batch's events become records as a Kafka client writes them, in their order")
  func batch() throws {
    let body = Self.batch([("a", 3, Self.impression().encoded()), ("b", 4, Self.click.encoded())])
    let told = try read(body, Self.protobuf).get()
    let events = try told.events.map { try $0.get() }
    #expect(!told.isJSON)
    #expect(events.map(\.topic) == [.impressions, .clicks])
    #expect(events.map(\.value) == [Self.impression().encoded(), Self.click.encoded()])
    #expect(headers(events[0])["ce_type"] == "org.handbill.impression.viewed.v1")
    #expect(headers(events[0])["ce_id"] == "a" && headers(events[0])["ce_time"] == "2010-07-01T16:00:00.000Z")
    #expect(headers(events[1])["ce_type"] == "org.handbill.click.tapped.v1")
    // What the edge writes, trackers read.
    var read = RecordHeaders()
    for header in events[0].headers { read.add(header) }
    let decoded = events[0].value.withUnsafeBytes { ImpressionEvent.decode(value: $0, headers: read) }
    #expect(try decoded.get().age == .milliseconds(1_000))
  }

  @Test("what is wrong with one event is said of it alone, by number")
  func refused() throws {
    let body = Self.batch([
      ("a", 3, Self.impression().encoded()), ("", 3, Self.impression().encoded()), ("c", 3, [0xFF]),
      ("d", 4, []), ("e", 4, [UInt8](repeating: 0, count: 16_385)), ("f", 9, [1]),
      (String(repeating: "x", count: 129), 3, Self.impression().encoded()), ("h", 4, Self.click.encoded()),
    ])
    let result = try read(body, Self.protobuf).get().result
    #expect(result.acceptedCount == 2)
    #expect(result.refused.map(\.index) == [1, 2, 3, 4, 5, 6])
    #expect(result.refused.map { Int($0.event.rejection.reason.rawValue) } == [69, 68, 65, 66, 69, 70])
    #expect(result.refused.map(\.event.id).prefix(3) == ["", "c", "d"])
  }

  @Test("the answer to a batch is bounded, whatever is wrong with its events and however long their ids are")
  func boundedAnswer() throws {
    let id = "i" + String(repeating: "\u{300}", count: 1_000)
    let wrong = """
      {"id": "\(id)", "click": {"kind": "KIND_CLICK", "token": "!!!", "ageMilliseconds": -1, "actionMilliseconds": "x",
        "leftApplication": 7, "timeMilliseconds": "y", "conversion": {"reference": 1, "kind": 2, "appKey": 3}}}
      """
    let events = [String](repeating: wrong, count: 100).joined(separator: ", ")
    let body = #"{"appKey": "live", "clientKey": "c", "events": [\#(events)]}"#
    let told = try read(Array(body.utf8), ["content-type": "application/json"]).get()
    let longest = told.result.refused.map { $0.event.rejection.detail.utf8.count }.max() ?? 0
    #expect(told.result.refused.count == 100 && longest > EventBatchResult.detailBytesMaximum)
    let each = try #require(told.result.json["refused"]?.elements?.first)
    #expect(each["id"]?.textValue?.utf8.count == 127)
    let detail = try #require(each["detail"]?.textValue)
    #expect(detail.hasSuffix("; and more"), "\(detail)")
    #expect(detail.utf8.count <= EventBatchResult.detailBytesMaximum + "; and more".utf8.count)
    #expect(told.result.json.prettyText.utf8.count < 60_000 && told.result.encoded().count < 45_000)
  }

  @Test("a long sentence is cut between two characters' scalars")
  func cutSentence() throws {
    let refused = RefusedDeviceEvent(rejection: Rejection(.invalidField, String(repeating: "é", count: 300)))
    let result = EventBatchResult(acceptedCount: 0, refused: [.init(index: 0, event: refused)])
    #expect(result.json["refused"]?.elements?.first?["detail"]?.textValue == String(repeating: "é", count: 100))
    #expect("aé".beginning(bytesMaximum: 2) == "a" && "aé".beginning(bytesMaximum: 3) == "aé")
  }

  @Test(
    "A8, M8: a conversion without consent stops here, with nothing of it said; one with consent goes on",
    arguments: [
      ToldForm.batch, .cloudEvents,
    ])
  func consent(_ form: ToldForm) throws {
    let told = try read(Array(form.conversions.utf8), form.headers).get()
    #expect(told.result.acceptedCount == 1)
    let refused = try #require(told.result.refused.first)
    #expect(refused.index == 0 && refused.event.rejection.reason == .consentMissing)
    #expect(!refused.event.rejection.detail.contains("a-reference") && !refused.event.rejection.detail.contains("live"))
    #expect(try #require(told.events.last).get().topic == .clicks)
  }

  @Test("the frame itself must be readable, and have 1 to 100 events")
  func frames() throws {
    let one = ("a", UInt32(3), Self.impression().encoded())
    for (body, number) in [
      (Self.batch([]), 69), (Self.batch([one], key: ""), 69), (Self.batch(Array(repeating: one, count: 101)), 70),
      ([0xFF], 68), (Self.batch([one], key: String(repeating: "k", count: 129)), 70),
    ] {
      guard case .failure(let refusal) = read(body, Self.protobuf) else {
        Issue.record("a frame was taken that has \(number)")
        continue
      }
      #expect(refusal.status == 400 && refusal.number == number)
    }
    #expect(try read(Self.batch(Array(repeating: one, count: 100)), Self.protobuf).get().events.count == 100)
    guard case .failure(let refusal) = read([1], ["content-type": "text/plain"]) else {
      Issue.record("text was taken")
      return
    }
    #expect(refusal.status == 415 && refusal.number == 67)
  }

  @Test("the same in JSON, where a broken event spoils no other")
  func json() throws {
    let body = """
      {"appKey": "live", "client_key": "client-1", "events": [
        {"id": "a", "impression": {"kind": "KIND_VIEWED", "token": "AQID", "ageMilliseconds": "1000"}},
        {"id": "b", "click": {"kind": "KIND_CLICK", "token": "!!!", "ageMilliseconds": "1200"}},
        {"id": "c"}, 7]}
      """
    let told = try read(Array(body.utf8), ["content-type": "application/json; charset=utf-8"]).get()
    #expect(told.isJSON)
    #expect(try told.events[0].get().value == Self.impression().encoded())
    #expect(told.result.refused.map(\.index) == [1, 2, 3])
    #expect(told.result.refused.map(\.event.id) == ["b", "c", ""])
  }

  @Test("a CloudEvent comes in binary mode, structured, or many in a list, and says whose it is by headers")
  func cloudEvents() throws {
    let keys = ["handbill-app-key": "live", "handbill-client-key": "client-1"]
    let envelope = [
      "ce-specversion": "1.0", "ce-id": "a", "ce-source": "/client/x", "ce-type": "org.handbill.impression.viewed.v1",
    ]
    let all = keys.merging(envelope) { $1 }.merging(Self.protobuf) { $1 }
    let binary = try read(Self.impression().encoded(), all).get()
    #expect(try binary.events[0].get().topic == .impressions)
    for missing in ["ce-id", "ce-source", "ce-specversion"] {
      var less = all
      less[missing] = nil
      let result = try read(Self.impression().encoded(), less).get().result
      #expect(result.refused.first.map { Int($0.event.rejection.reason.rawValue) } == 72, "\(missing)")
    }
    let structured = """
      {"specversion": "1.0", "id": "a", "source": "/x", "type": "org.handbill.click.tapped.v1",
       "data": {"kind": "KIND_CLICK", "token": "AQID", "ageMilliseconds": 1200, "actionMilliseconds": 2000}}
      """
    var one = keys
    one["content-type"] = "application/cloudevents+json"
    #expect(try read(Array(structured.utf8), one).get().events[0].get().topic == .clicks)
    one["content-type"] = "application/cloudevents-batch+json"
    let list = "[\(structured), {\"id\": \"b\"}, 3]"
    let told = try read(Array(list.utf8), one).get()
    #expect(told.result.acceptedCount == 1 && told.result.refused.map(\.event.id) == ["b", ""])
    one["handbill-app-key"] = nil
    guard case .failure(let refusal) = read(Array(list.utf8), one) else {
      Issue.record("nobody's events were taken")
      return
    }
    #expect(refusal.number == 69)
  }

  private static let list = [
    "handbill-app-key": "live", "handbill-client-key": "client-1",
    "content-type": "application/cloudevents-batch+json",
  ]

  @Test("whose events they are is known before any is read, and of CloudEvents before their list is")
  func whose() throws {
    let batch = Self.batch([("a", 3, [0xFF]), ("b", 4, Self.click.encoded())])
    let text = #"{"appKey": "live", "clientKey": "client-1", "events": [{}, {}]}"#
    let lists = Array(#"[{"id": "a"}, 7]"#.utf8)
    for (body, headers) in [
      (batch, Self.protobuf), (Array(text.utf8), ["content-type": "application/json"]), (lists, Self.list),
    ] {
      let unread = try UnreadEvents(body) { headers[$0] }
      #expect(unread.appKey == "live" && unread.clientKey == "client-1")
      var counts: [Int] = []
      let refusal = #expect(throws: EdgeRefusal.self) {
        try unread.read { (count) throws(EdgeRefusal) in
          counts.append(count)
          throw .noAnswer
        }
      }
      #expect(counts == [2] && refusal == .noAnswer)
    }
    let unread = try UnreadEvents(Array("no list".utf8)) { Self.list[$0] }
    #expect(unread.appKey == "live")
    #expect(throws: EdgeRefusal.self) { try unread.read { _ in Issue.record("it has been counted") } }
  }

  @Test("a CloudEvent that is more than a record may be, as it comes or as it would be written, is not read")
  func largeCloudEvents() throws {
    let escaped = #"{"id": "a", "junk": "\#(String(repeating: "\u{7F}", count: 3_000))"}"#
    let long = #"{"id": "b", "junk": "\#(String(repeating: "x", count: 16_385))"}"#
    #expect(escaped.utf8.count < 4_000)
    let refused = try read(Array("[\(escaped), \(long), {}]".utf8), Self.list).get().result.refused
    #expect(refused.map(\.event.rejection.reason) == [.tooLarge, .tooLarge, .missingField])
    #expect(refused.map(\.event.id) == ["a", "b", ""])
    let one = Self.list.merging(["content-type": "application/cloudevents+json"]) { $1 }
    let alone = try read(Array(long.utf8), one).get().result.refused
    #expect(alone.map(\.event.rejection.reason) == [.tooLarge])
  }

  @Test("a request for an ad is held to Kafka's rules, in each form, and becomes a record that selection reads")
  func ads() throws {
    let request = AdRequest.sample()
    let asked = try AskedAd.read(request.encoded(), contentType: "application/protobuf").get()
    let mark = [UInt8](repeating: 7, count: 8)
    var read = RecordHeaders()
    for header in asked.headers(mark: mark, partition: 3, correlationID: [1, 2]) { read.add(header) }
    #expect(read.edgeMark == mark && read.replyTopic == "ads.responses.edge" && read.replyPartition == 3)
    let decoded = asked.value.withUnsafeBytes { AdRequest.decode(value: $0, headers: read) }
    #expect(try decoded.get().requestID == request.requestID)
    guard case .failure(let refusal) = AskedAd.read([], contentType: "application/json") else {
      Issue.record("nothing was taken for a request")
      return
    }
    #expect(refusal.status == 400 && refusal.number == 65)
    #expect((try? AskedAd.read(request.encoded(), contentType: "application/cloudevents-batch+json").get()) == nil)
  }
}

/// The same two conversions, the first without consent, in both forms that the edge takes.
enum ToldForm: Sendable {
  case batch, cloudEvents

  private static func click(_ consent: String) -> String {
    #"{"kind": "KIND_CONVERTED", "conversion": {"reference": "a-reference", "kind": "KIND_INSTALL", "appKey": "live"\#(consent)}}"#
  }

  private static let clicks = [click(""), click(#", "hasConsent": true"#)]

  var conversions: String {
    switch self {
    case .batch:
      let events = Self.clicks.enumerated().map { #"{"id": "\#($0)", "click": \#($1)}"# }
      return #"{"appKey": "live", "clientKey": "c", "events": [\#(events.joined(separator: ", "))]}"#
    case .cloudEvents:
      let events = Self.clicks.enumerated().map { number, click in
        #"{"specversion": "1.0", "id": "\#(number)", "source": "/client/shop", "type": "org.handbill.ad.converted.v1", "#
          + #""datacontenttype": "application/json", "data": \#(click)}"#
      }
      return "[\(events.joined(separator: ", "))]"
    }
  }

  var headers: [String: String] {
    switch self {
    case .batch: ["content-type": "application/json"]
    case .cloudEvents:
      [
        "content-type": "application/cloudevents-batch+json", UnreadEvents.appKeyHeader: "live",
        UnreadEvents.clientKeyHeader: "c",
      ]
    }
  }
}
