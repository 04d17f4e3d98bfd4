import AdCore
import AdEvents
import Foundation
import HTTP
import Kafka
import LocalProcesses
import Runtime
import TestServers
import Testing
import Threads

@Suite("The edge's program, under many connections", .serialized)
struct RestingConnectionsTests {
  private static let count = 10_000
  private static let kibibytesMaximum = 128 * 1_024

  /// A connection of one's own, on which one request was answered.
  private static func rest(port: Int) throws -> LoopbackConnection {
    let connection = try LoopbackConnection(port: port)
    let request = Array("OPTIONS /v1/ads HTTP/1.1\r\nHost: edge\r\nUser-Agent: Mozilla/5.0\r\n\r\n".utf8)
    try #require(connection.send(request))
    try #require(!connection.receive().isEmpty)
    return connection
  }

  private static func residentKibibytes(_ process: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
    return try #require(Int(line.filter(\.isNumber)))
  }

  @Test("10,000 connections at rest take no more than 128 MB, and who comes then is served at once")
  func resting() async throws {
    try await onOwnThread {
      try #require(OpenFiles.raiseLimit() > Self.count + 500)
      let broker = try EmbeddedBroker()
      defer { broker.stop() }
      for topic in Topic.networkSettings(networkPartitions: 2) {
        try broker.createTopic(topic.name, partitions: topic.partitions)
      }
      let port = try FreePort.find()
      let edge = try ChildProcess(
        .init(
          Programs.own.path("handbill-edge"), [],
          environment: [
            "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrapServers, "HANDBILL_KAFKA_EMBEDDED": "true",
            "HANDBILL_TOKEN_KEYS": "1:\(Data(repeating: 1, count: 32).base64EncodedString())",
            "HANDBILL_EDGE_PORT": "\(port)", "HANDBILL_ADMIN_PORT": "0",
            "HANDBILL_EDGE_CONNECTIONS_OF_ADDRESS": "0", "SWIFT_BACKTRACE": "enable=no",
          ]))
      defer { edge.terminate(graceMilliseconds: 20_000) }
      let base = "http://127.0.0.1:\(port)"
      let end = MonotonicClock.milliseconds + 60_000
      while (try? HTTPClient.get(base + "/v1/ads"))?.status != 405, MonotonicClock.milliseconds < end {}
      let before = try Self.residentKibibytes(edge.processIdentifier)
      let resting = try (0..<Self.count).map { _ in try Self.rest(port: port) }
      let taken = try Self.residentKibibytes(edge.processIdentifier)
      #expect(taken <= Self.kibibytesMaximum, "\(taken) KiB, \(before) KiB before")
      let began = MonotonicClock.milliseconds
      #expect(try HTTPClient.get(base + "/v1/ads").status == 405)
      #expect(MonotonicClock.milliseconds - began < 1_000)
      print("10,000 connections at rest: \(taken) KiB, \(before) KiB before them")
      // They are open until here.
      withExtendedLifetime(resting) {}
    }
  }
}
