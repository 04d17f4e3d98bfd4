import AdCore
import Crypto
import Foundation
import FuzzTargets
import JSON
import Testing

@testable import AdEvents

@Suite("The JSON mapping")
struct JSONTests {
  private func read(_ text: String) -> Result<ClickEvent, Rejection> {
    decode(ClickEvent.self, Array(text.utf8), properHeaders(.clickTapped, contentType: "application/json"))
  }

  private func reason(_ text: String) -> RejectionReason? {
    guard case .failure(let rejection) = read(text) else { return nil }
    return rejection.reason
  }

  @Test(
    "one click, written in all the ways that protobuf allows",
    arguments: [
      #"{"kind":"KIND_CLICK","token":"-_8=","ageMilliseconds":"9223372036854775807","actionMilliseconds":2000}"#,
      #"{"kind":1,"token":"+/8","age_milliseconds":9223372036854775807,"action_milliseconds":"2000"}"#,
      #" { "kind" : 1.0 , "token" : "-_8" , "ageMilliseconds" : 9223372036854775807 , "actionMilliseconds" : 2e3 } "#,
      #"{"kind":1,"token":"+/8=","ageMilliseconds":9223372036854775807,"actionMilliseconds":"2000.0","later":[{}]}"#,
      #"{"\u006bind":1,"token":"+\/8=","ageMilliseconds":9223372036854775807,"actionMilliseconds":20000E-1}"#,
      #"{"kind":1,"token":"+/8=","ageMilliseconds":9223372036854775807,"actionMilliseconds":2000,"leftApplication":null}"#,
    ])
  func ways(_ text: String) throws {
    let event = try read(text).get()
    #expect(event.kind == .click)
    #expect(event.token == [0xFB, 0xFF])
    #expect(event.age == .milliseconds(.max))
    #expect(event.actionMilliseconds == 2_000)
    #expect(!event.leftApplication)
  }

  @Test(
    "JSON that is none, or says something twice, is malformed",
    arguments: [
      "{", "[]", "null", "1", "\"\"", "{}{}", "{\"kind\":1,}", "{'kind':1}", "{\"kind\"}", "{\"kind\":}", "{kind:1}",
      #"{"kind":1,"kind":1}"#, #"{"ageMilliseconds":1,"age_milliseconds":1}"#, #"{"kind":01}"#, #"{"kind":1.}"#,
      #"{"kind":.5}"#, #"{"kind":+1}"#, #"{"kind":NaN}"#, #"{"kind":Infinity}"#, #"{"kind":-}"#, #"{"kind":1e}"#,
      #"{"actionMilliseconds":1.5}"#, #"{"actionMilliseconds":"1.5"}"#, #"{"actionMilliseconds":"NaN"}"#,
      #"{"actionMilliseconds":""}"#, #"{"actionMilliseconds":" 1"}"#, #"{"actionMilliseconds":true}"#,
      #"{"actionMilliseconds":1e999999999999}"#, #"{"token":1}"#, #"{"token":"A"}"#, #"{"token":"A==="}"#,
      #"{"token":"AQ*D"}"#, #"{"token":["AQID"]}"#, #"{"leftApplication":1}"#, #"{"leftApplication":"true"}"#,
      "{\"later\":\"a\nb\"}", #"{"later":"\x"}"#, #"{"later":"\u12"}"#, #"{"later":"open"#, #"{"later":tru}"#,
      "{\"later\":" + String(repeating: "[", count: 5_000),
      "{\"later\":" + String(repeating: "{\"a\":", count: 41) + "1" + String(repeating: "}", count: 42),
    ])
  func malformed(_ text: String) {
    #expect(reason(text) == .malformed)
  }

  @Test("values outside their ranges are invalidField, broken characters are invalidText")
  func invalid() {
    for text in [
      #"{"kind":"KIND_SOMETHING"}"#, #"{"kind":9}"#, #"{"kind":2147483648}"#, #"{"ageMilliseconds":-1}"#,
      #"{"ageMilliseconds":18446744073709551616}"#, #"{"ageMilliseconds":"1e29"}"#,
    ] { #expect(reason(text) == .invalidField, "\(text)") }
    for text in [#"{"later":"\ud800"}"#, #"{"later":"\ud800\u0041"}"#, #"{"later":"\udc00"}"#] {
      #expect(reason(text) == .invalidText, "\(text)")
    }
    #expect(reason(#"{"kind":1}"#) == .missingField)
    #expect(reason("{}") == .missingField)
  }

  @Test("two of one oneof are malformed; a NUL in text is invalidText; nested messages, lists and null are read")
  func nested() throws {
    func read(_ text: String) -> Result<AdResponse, Rejection> {
      decode(AdResponse.self, Array(text.utf8), properHeaders(.adResponded, contentType: "application/json"))
    }
    let id = #""requestId":"AZAAAAAAcACAAAAAAAAAAQ==""#
    let action = #""action":{"kind":"KIND_COVER","destination":"https:\/\/example.com\/"}"#
    let images = #""images":[{"size":1,"url":"a"},{"size":"AD_SIZE_MEDIUM_RECTANGLE","url":"\ud83d\ude00"}]"#
    let serve = #""serveId":"01900000-0000-7000-8000-000000000001""#
    let ad = #""ad":{"ad":"one","token":"AQID",\#(action),\#(images),\#(serve)}"#
    guard case .ad(let served) = try read("{\(id),\(ad),\"failure\":null}").get().outcome else {
      Issue.record("the ad was not read")
      return
    }
    #expect(served.serveID.description == "01900000-0000-7000-8000-000000000001")
    #expect(served.images.map(\.url) == ["a", "\u{1F600}"])
    #expect(served.images.map(\.size) == [.phoneBannerPortrait, .mediumRectangle])
    for (text, reason) in [
      ("{\(id),\(ad),\"failure\":{}}", "malformed"), (#"{\#(id),"failure":{"detail":"\u0000"}}"#, "invalidText"),
      (#"{\#(id),"failure":[]}"#, "malformed"), (#"{\#(id),"ad":{"images":{}}}"#, "malformed"),
      (#"{\#(id),"ad":{"images":[null]}}"#, "malformed"),
    ] {
      guard case .failure(let rejection) = read(text) else {
        Issue.record("taken: \(text)")
        continue
      }
      // Only services write answers, so the inner reason stands in the detail.
      #expect(rejection.reason == .invalidInternal)
      #expect(rejection.detail.hasPrefix(reason))
    }
  }

  @Test("every message goes through JSON and back", arguments: AnyMessage.all)
  func roundTrip(_ message: AnyMessage) throws {
    for seed in UInt64(0)..<100 {
      let (type, bytes) = message.sample(seed)
      let json = try bytes.withUnsafeBytes {
        try ProtobufJSON.json(fromProtobuf: $0, schemaName: message.schemaName).get().compactText
      }
      let headers = properHeaders(type, contentType: "application/json")
      #expect(message.reencode(Array(json.utf8), headers) == .success(bytes))
      #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(json.utf8)) }
    }
  }

  @Test("JSON cut off or changed at random never traps", arguments: AnyMessage.all)
  func random(_ message: AnyMessage) throws {
    var maker = SampleMaker(seed: 9)
    let (type, bytes) = message.sample(1)
    let headers = properHeaders(type, contentType: "application/json")
    let json = try bytes.withUnsafeBytes {
      Array(try ProtobufJSON.json(fromProtobuf: $0, schemaName: message.schemaName).get().compactText.utf8)
    }
    for count in 0..<json.count {
      #expect(throws: Rejection.self) { try message.reencode(Array(json[..<count]), headers).get() }
    }
    for _ in 0..<2_000 {
      var changed = json
      for _ in 0..<maker.number(1...4) {
        changed[Int(maker.number(0...Int64(json.count - 1)))] = UInt8(truncatingIfNeeded: maker.word())
      }
      if case .failure(let rejection) = message.reencode(changed, headers) { #expect(!rejection.detail.isEmpty) }
    }
  }
}

@Suite("The golden corpus")
struct GoldenTests {
  @Test("what was once written still decodes, and is written the same")
  func corpus() throws {
    let path = Program.root + "/Tests/Conformance/golden-messages.txt"
    var seen: Set<String> = []
    for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") where line.first != "#" {
      let parts = line.split(separator: " ", maxSplits: 3)
      let message = try #require(AnyMessage.all.first { $0.schemaName == parts[0] })
      let type = try #require(EventType.allCases.first { "\($0.name)" == parts[1] })
      let expected = try #require(Hexadecimal.bytes(parts[2]))
      #expect(message.reencode(expected, properHeaders(type)) == .success(expected), "\(line)")
      let json = expected.withUnsafeBytes {
        ProtobufJSON.json(fromProtobuf: $0, schemaName: message.schemaName)
      }
      #expect(json.map(\.compactText) == .success(String(parts[3])))
      seen.insert("\(message.schemaName) \(type.name)")
    }
    let all = AnyMessage.all.flatMap { message in message.eventTypes.map { "\(message.schemaName) \($0.name)" } }
    #expect(seen == Set(all))
  }
}
