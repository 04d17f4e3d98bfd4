import Foundation
import HTTP
import Kafka
import Runtime
import TestValues
import Testing

@testable import Edge

/// What docs/architecture.md says of the edge's memory is the sum of the limits that it has where nobody says others.
@Suite("Memory of the edge")
struct EdgeMemoryTests {
  private static let mebibyte = 1 << 20

  @Test("Its limits are together less than is promised of a service, and the document adds them up")
  func bounded() throws {
    let environment = [
      "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
      "HANDBILL_TOKEN_KEYS": "1:" + Data(count: 32).base64EncodedString(),
    ]
    let edge = try ConfigurationReader.read(commandLine: [:], environment: environment, EdgeMain.configuration)
    // What has just been taken beyond a limit is there until the slowest has been hung up on.
    let parts = [
      2 * edge.http.bodyBytesInAllMaximum, 2 * edge.http.answerBytesInAllMaximum,
      edge.http.connectionsMaximum * edge.http.headerBytesMaximum, edge.kafka.bytesInFlightMaximum,
      edge.creativeBytesMaximum,
    ]
    let mebibytes = parts.map { ($0 + Self.mebibyte / 2) / Self.mebibyte }
    let sum = mebibytes.reduce(0, +)
    #expect(sum <= 256)
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("docs/architecture.md")
    let text = try String(contentsOf: file, encoding: .utf8).replacing("\n", with: " ")
    let words =
      "2 x \(mebibytes[0] / 2) (bodies) + 2 x \(mebibytes[1] / 2) (answers) + \(mebibytes[2]) (connections) + \(mebibytes[3]) "
      + "(on their way to Kafka) + \(mebibytes[4]) (images) = \(sum) MiB"
    #expect(text.contains(words), "it does not say: \(words)")
  }
}
