import AdCore
import Crypto
import FuzzTargets
import Records
import Testing

@testable import AdEvents

@Suite("A8: what is kept of rejected records")
struct RedactedRecordTests {
  private static let secrets = ["client-4711", "session-0815", "key-of-the-app"]
  private static let type = RecordHeader("ce_type", "\(EventType.adRequested.name)")
  private static let json = RecordHeader("content-type", "application/json")

  private static func request() -> AdRequest {
    var maker = SampleMaker(seed: 5)
    var request = maker.request()
    (request.clientID, request.sessionID, request.appKey) = (secrets[0], secrets[1], secrets[2])
    return request
  }

  private static func redacted(
    _ value: [UInt8], _ headers: [RecordHeader] = [type], topic: String = Topic.requests.name
  ) -> RedactedRecord {
    RedactedRecord(topic: topic, key: Array(secrets[0].utf8), value: value, headers: headers)
  }

  /// Whether one of the secrets stands in anything that is kept.
  private static func names(_ record: RedactedRecord) -> Bool {
    let parts = [record.key ?? [], record.value ?? []] + record.headers.flatMap { [$0.name, $0.value ?? []] }
    return secrets.contains { secret in
      parts.contains { String(decoding: $0, as: UTF8.self).contains(secret) }
    }
  }

  /// A value whose placement is no slug, written after the rest.
  private static func spoiled(_ write: (inout WireWriter) -> Void) -> [UInt8] {
    var writer = WireWriter(output: request().encoded())
    write(&writer)
    return writer.output
  }

  private static let jsonText = """
    {"requestId": "AZg7CgAAcACAAAAAAAAAAQ==", "app": "chess", "placement": "end of game", "appKey": "key-of-the-app",
     "clientId": "client-4711", "session_id": "session-0815", "segments": ["chess"]}
    """

  @Test("the edge's mark, which tells of which network its client is, is not kept")
  func mark() {
    let forwarded = RecordHeader("handbill_forwarded", "AAAA")
    let headers = [Self.type, RecordHeader("handbill_edge", "AAEzREUAAAAH"), forwarded]
    #expect(Self.redacted(Self.spoiled { $0.text(4, "end of game") }, headers).headers == [Self.type, forwarded])
    #expect(Self.redacted([0xFF], headers).headers == [Self.type, forwarded])
  }

  @Test("a request keeps everything but its ids and its key, which are asterisks of the same length")
  func requests() throws {
    let value = Self.spoiled { $0.text(4, "end of game") }
    let record = Self.redacted(value)
    #expect(!Self.names(record) && record.key == nil && record.headers == [Self.type])
    let kept = try #require(record.value)
    #expect(kept.count == value.count)
    let headers = properHeaders(.adRequested)
    let legible = kept.withUnsafeBytes { AdRequest.decodeLegibly(value: $0, headers: headers) }
    guard case .failure(let rejected) = legible else {
      Issue.record("it was taken")
      return
    }
    #expect(rejected.legible?.requestID == Self.request().requestID && rejected.legible?.app == Self.request().app)
    #expect(rejected.legible?.clientID == "***********" && rejected.legible?.appKey == "**************")
    let text = String(
      decoding: Self.redacted(Array(Self.jsonText.utf8), [Self.type, Self.json]).value ?? [], as: UTF8.self)
    #expect(
      text == """
        {"requestId":"AZg7CgAAcACAAAAAAAAAAQ==","app":"chess","placement":"end of game","appKey":"**************",\
        "clientId":"***********","session_id":"************","segments":["chess"]}
        """)
  }

  @Test("whatever form they have, and wherever they stand, no id and no key is kept")
  func forms() {
    let escaped = Self.jsonText.replacing("client-4711", with: #"\u0063lient-4711"#)
    let structured = RecordHeader("content-type", "application/cloudevents+json")
    let base64 = Base64.encode(Self.request().encoded())
    let failure = """
      {"kind": "KIND_FAILED", "error": 1, "request": {"requestId": "AZg7CgAAcACAAAAAAAAAAQ==", "app": "chess",
       "placement": "home", "clientId": "client-4711", "sessionId": "session-0815"}}
      """
    let records: [(RedactedRecord, isKept: Bool)] = [
      (Self.redacted(Array(escaped.utf8), [Self.json]), true),
      (
        Self.redacted(Array(#"{"data": \#(Self.jsonText), "id": "1", "client": "client-4711"}"#.utf8), [structured]),
        true
      ),
      (Self.redacted(Array(#"{"data_base64": "\#(base64)", "id": "1"}"#.utf8), [structured]), true),
      (Self.redacted(Array(#"{"clientId": 4711, "appKey": ["key-of-the-app"]}"#.utf8), [Self.json]), true),
      // In a field that nobody knows, once more, in another field, in a header, and in one that nobody knows.
      (Self.redacted(Self.spoiled { $0.text(99, "client-4711") }), true),
      (Self.redacted(Self.spoiled { $0.text(5, "client-4711") }), true),
      (Self.redacted(Self.spoiled { $0.text(4, "client-4711") }), false),
      (Self.redacted(Array(Self.jsonText.replacing("end of game", with: "client-4711").utf8), [Self.json]), false),
      (
        Self.redacted(
          Self.request().encoded(),
          [Self.type, RecordHeader("ce_source", "/of/client-4711"), RecordHeader("x-client", "client-47")]), true
      ),
      // What ends too soon, and what is no JSON.
      (Self.redacted(Array(Self.request().encoded().dropLast())), false),
      (
        Self.redacted(Array(Self.jsonText.utf8.dropLast()), [Self.json, RecordHeader("ce_source", "client-4711")]),
        false
      ),
      (Self.redacted(Array("client-4711".utf8)), false),
      (Self.redacted([UInt8](repeating: 32, count: 70_000) + Array(Self.jsonText.utf8), [Self.json]), false),
      (Self.redacted(Array(failure.utf8), [Self.json], topic: Topic.impressions.name), true),
    ]
    for (index, (record, isKept)) in records.enumerated() {
      #expect(!Self.names(record), "\(index)")
      #expect((record.value != nil) == isKept, "\(index)")
      #expect(!record.headers.contains { $0.name.elementsEqual("x-client".utf8) })
    }
  }

  @Test("nothing is kept of a record with more illegible fields than anybody looks for in all of it")
  func invented() {
    func invented(_ count: Int) -> [UInt8] {
      var writer = WireWriter()
      for number in 0..<count { writer.fixed(UInt32(number)) }
      return writer.output
    }
    #expect(Self.redacted(invented(RedactedRecord.secretsMaximum)).value != nil)
    #expect(Self.redacted(invented(RedactedRecord.secretsMaximum + 1)).value == nil)
    // As many as there is room for, beside as long a header.
    let header = RecordHeader("ce_id", [UInt8](repeating: 46, count: 900_000))
    let record = Self.redacted(invented(9_000), [Self.type, header])
    #expect(record.value == nil && record.key == nil && record.headers == [Self.type, header])
  }

  @Test(
    "taps keep their bytes, for whoever sends them again, conversions neither key nor reference; services' records all")
  func events() throws {
    let bytes = Array("no click".utf8)
    let headers = [RecordHeader("anything", "client-4711")]
    let garbage = Self.redacted(bytes, headers, topic: Topic.clicks.name)
    #expect(garbage.value == nil && garbage.headers.isEmpty && garbage.key == nil)
    func click(_ kind: TapKind, _ conversion: ClickEvent.Conversion? = nil) -> [UInt8] {
      ClickEvent(
        kind: kind, token: conversion == nil ? [1, 2] : [], age: .unknown, actionMilliseconds: 0,
        leftApplication: false,
        conversion: conversion, identity: EventIdentity(idHash: 0, time: nil)
      ).encoded()
    }
    let tap = Self.redacted(click(.click), topic: Topic.clicks.name)
    #expect(tap.value == click(.click) && tap.key == Array(Self.secrets[0].utf8))
    let told = ClickEvent.Conversion(reference: "the-reference", kind: .install, appKey: "the-shop's-key")
    let conversion = Self.redacted(click(.converted, told), topic: Topic.clicks.name)
    let kept = String(decoding: try #require(conversion.value), as: UTF8.self)
    #expect(!kept.contains("the-reference") && !kept.contains("the-shop's-key") && conversion.key == nil)
    let usage = Self.redacted(bytes, headers, topic: Topic.usage.name)
    #expect(usage.key == Array(Self.secrets[0].utf8) && usage.value == bytes && usage.headers == headers)
  }
}

extension WireWriter {
  /// A field that the schema does not know, of four bytes.
  fileprivate mutating func fixed(_ number: UInt32) {
    presentBytes(99, (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })
  }
}
