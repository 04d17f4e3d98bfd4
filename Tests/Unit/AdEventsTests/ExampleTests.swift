import AdCore
import Foundation
import TestServers
import Testing

@testable import AdEvents

@Suite("The examples of docs/asyncapi.yaml")
struct ExampleTests {
  /// An example as Python's reader of YAML has it.
  private struct Example {
    let message: String
    let headers: [String: String]
    let payload: [String: Any]
  }

  /// The examples, each of which Python has checked against the schemas of the same document.
  private static func examples() throws -> [Example] {
    let script = Program.root + "/Tests/Conformance/asyncapi_examples.py"
    let outcome = try Program.run([try #require(ConformancePython.path), script, Program.root + "/docs/asyncapi.yaml"])
    #expect(outcome.status == 0, "\(outcome.errors)")
    return try outcome.output.split(separator: "\n").map { line in
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      return Example(
        message: try #require(object["message"] as? String),
        headers: try #require(object["headers"] as? [String: String]),
        payload: try #require(object["payload"] as? [String: Any]))
    }
  }

  /// What our own decoder makes of a payload in JSON.
  private static func rejection(_ example: Example, _ payload: [String: Any]) throws -> Rejection? {
    var headers = RecordHeaders()
    for (name, value) in example.headers.merging(["content-type": "application/json"], uniquingKeysWith: { $1 }) {
      Array(name.utf8).withUnsafeBytes { name in
        Array(value.utf8).withUnsafeBytes { headers.add(name: name, value: $0) }
      }
    }
    func decode<Message: EventMessage>(_: Message.Type, _ value: Data) -> Rejection? {
      value.withUnsafeBytes { bytes in
        if case .failure(let rejection) = Message.decode(value: bytes, headers: headers) { rejection } else { nil }
      }
    }
    let value = try JSONSerialization.data(withJSONObject: payload)
    switch example.message {
    case "AdRequest": return decode(AdRequest.self, value)
    case "AdResponse": return decode(AdResponse.self, value)
    case "ImpressionEvent": return decode(ImpressionEvent.self, value)
    case "ClickEvent": return decode(ClickEvent.self, value)
    default: throw Rejection(.unknownType, example.message)
    }
  }

  @Test(
    "our decoders take each, and without a field only if it is not required",
    .enabled(if: ConformancePython.path != nil))
  func decoded() throws {
    let examples = try Self.examples()
    #expect(Set(examples.map(\.message)) == ["AdRequest", "AdResponse", "ImpressionEvent", "ClickEvent"])
    for example in examples {
      #expect(try Self.rejection(example, example.payload) == nil, "\(example)")
      guard example.message != "AdResponse" else { continue }
      // What is written about has to be named, in one of the ways that there are.
      let required = FieldRules.required(of: example.message) + ["token", "conversion", "request", "error"]
      for field in example.payload.keys {
        let shortened = example.payload.filter { $0.key != field }
        #expect(
          try (Self.rejection(example, shortened) != nil) == required.contains(field),
          "\(example.message) without \(field)")
      }
    }
  }
}
