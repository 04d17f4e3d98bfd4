import AdCore
import AdEvents
import JSON
import Records
import Testing

@testable import AdSelectionCore
@testable import Pipeline

@Suite("The form of an answer")
struct AnswerFormTests {
  /// How a request may be written.
  enum Form: CaseIterable {
    case protobuf, json, jsonWithParameter, jsonByHand, structured

    var isJSON: Bool { self != .protobuf }
  }

  private let request: AdRequest

  init() throws {
    var request = try Samples().request(PartitionRig.clients[0]).request
    request.appKey = "live"
    request.deadlineMilliseconds = 60_000
    self.request = request
  }

  /// The request on its way through the service's own decoder.
  ///
  /// - Parameter append: adds to the members of the request in JSON.
  private func asked(_ rig: PartitionRig, _ form: Form, append: String = "") throws -> SelectionInput {
    let json = String(try request.json().get().compactText.dropLast()) + append + "}"
    var headers = MistakenRequestTests.headers(app: request.app).filter { $0.name != Array("content-type".utf8) }
    var value = json
    let contentType: String?
    switch form {
    case .protobuf: contentType = "application/protobuf"
    case .json: contentType = "application/json"
    case .jsonWithParameter: contentType = "Application/JSON; charset=utf-8"
    case .jsonByHand:
      contentType = nil
      headers.removeAll { $0.name.starts(with: Array("ce_".utf8)) }
    case .structured:
      contentType = "application/cloudevents+json"
      headers.removeAll { $0.name.starts(with: Array("ce_".utf8)) }
      value = """
        {"specversion":"1.0","id":"1","source":"/test","type":"org.handbill.ad.requested.v1","data":\(json)}
        """
    }
    if let contentType { headers.append(RecordHeader("content-type", contentType)) }
    var decoder = try SelectionDecoder(ring: rig.ring)
    decoder.begin()
    for header in headers {
      header.withUnsafeBytes { decoder.header(name: $0, value: $1) }
    }
    let bytes = form.isJSON ? Array(value.utf8) : request.encoded()
    return bytes.withUnsafeBytes { decoder.decode(input: 0, value: $0, arrival: Samples.now).event }
  }

  private func expect(_ message: OutgoingMessage, isJSON: Bool) throws -> AdResponse {
    let types = message.headers.filter { $0.name == Array("content-type".utf8) }.map(\.value)
    #expect(types == [Array((isJSON ? "application/json" : "application/protobuf").utf8)])
    #expect((message.value?.first == UInt8(ascii: "{")) == isJSON)
    return try PartitionRig.response(message)
  }

  @Test("It is that of the request, asked again too, and by whoever owns the partition then", arguments: Form.allCases)
  func form(form: Form) throws {
    var rig = try PartitionRig.withTextKeys()
    let first = rig.run([try asked(rig, form)])
    #expect(first.outcomes == [.accepted])
    let message = try #require(first.answers.first)
    let response = try expect(message, isJSON: form.isJSON)
    #expect(response.requestID == request.requestID)
    guard case .ad = response.outcome else {
      Issue.record("\(response)")
      return
    }
    let again = rig.run([try asked(rig, form)])
    #expect(again.outcomes == [.duplicate])
    #expect(again.answers.map(\.value) == [message.value])
    try rig.restart()
    for other in Form.allCases {
      let restored = rig.run([try asked(rig, other)])
      #expect(restored.outcomes == [.duplicate])
      #expect(try restored.answers.map { try expect($0, isJSON: other.isJSON) } == [response])
    }
  }

  @Test("A mistake in JSON is answered in JSON")
  func mistake() throws {
    var rig = try PartitionRig.withTextKeys()
    for form in Form.allCases where form.isJSON {
      let batch = rig.run([try asked(rig, form, append: #","isInterstitial":"perhaps""#)])
      #expect(batch.rejections.map(\.reason) == [.malformed])
      let response = try expect(try #require(batch.answers.first), isJSON: true)
      guard case .error(.configurationError, let detail) = response.outcome else {
        Issue.record("\(response)")
        return
      }
      #expect(detail.contains("is_interstitial"))
    }
  }

  @Test("In JSON it has protobuf's names: lowerCamelCase, and bytes in base64")
  func names() throws {
    var rig = try PartitionRig.withTextKeys()
    let message = try #require(rig.run([try asked(rig, .json)]).answers.first)
    let text = String(decoding: message.value ?? [], as: UTF8.self)
    for name in ["requestId", "ad", "token", "images", "action", "destination", "lifetimeMilliseconds", "serveId"] {
      #expect(text.contains("\"\(name)\":"), "\(text)")
    }
  }
}
