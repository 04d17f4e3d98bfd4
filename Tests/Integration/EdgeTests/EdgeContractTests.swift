import AdCore
import AdEvents
import Foundation
import HTTP
import LocalProcesses
import Testing

@testable import Edge
@testable import EdgeCore

@Suite("The edge's contract: docs/edge.openapi.yaml")
struct EdgeContractTests {
  private static func document() throws -> String {
    try String(contentsOfFile: PackageRoot.path("docs/edge.openapi.yaml"), encoding: .utf8)
  }

  private static let refusals: [EdgeRefusal] = [
    .rejected(Rejection(.malformed, "")), .rejected(Rejection(.tooLarge, "")),
    .rejected(Rejection(.unknownContentType, "")), .appKeyWrong(detail: ""), .originRefused,
    .tooLarge(bytesMaximum: 1), .unknownContent(detail: ""), .rateExceeded(of: .client, retrySeconds: 0),
    .unavailable(detail: ""), .noAnswer, .unknownCreative, .unsoundCreative,
  ]

  @Test("the document has every path of the edge, and no other")
  func paths() throws {
    let text = try Self.document()
    let documented = text.split(separator: "\n").filter { $0.hasPrefix("  /") && $0.hasSuffix(":") }
      .map { String($0.dropFirst(2).dropLast()) }
    let source = try String(contentsOfFile: PackageRoot.path("Services/Edge/Service/EdgeFront.swift"), encoding: .utf8)
    let routed = Set(
      source.matches(of: /"(\/v1\/[a-z]+(\/:[a-z]+)?)"/).map { match in
        String(match.output.1).replacing(/:([a-z]+)/) { "{\($0.output.1)}" }
      })
    #expect(Set(documented) == routed)
  }

  @Test("each status of a refusal, and each number of the edge's own, is in it")
  func refusals() throws {
    let text = try Self.document()
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    for refusal in Self.refusals {
      #expect(text.contains("'\(refusal.status)': { $ref:"), "\(refusal)")
      if EdgeReason(name: refusal.word) != nil {
        #expect(words.contains("\(refusal.number) \(refusal.word)"))
      }
      let response = HTTPResponse(refusal)
      #expect(response.status == refusal.status)
      let isLater = [429, 503].contains(refusal.status)
      #expect(
        response.headers.contains { $0.name == "Retry-After" && Int($0.value).map { $0 >= 1 } == true } == isLater)
    }
    #expect(text.contains("at most \(AskedAd.bodyBytesMaximum) bytes"))
    #expect(text.contains("at most \(ToldEvents.bodyBytesMaximum) bytes and \(EventBatch.eventsMaximum) events"))
  }
}
