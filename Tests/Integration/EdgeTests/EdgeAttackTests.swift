import AdCore
import AdEvents
import BrokerFaults
import Foundation
import HTTP
import LocalProcesses
import Pipeline
import Records
import Runtime
import Synchronization
import TestServers
import TestValues
import Testing
import Threads

@testable import Edge
@testable import EdgeCore

/// What strangers may try at the edge's port. Each time: nobody else is hurt, nothing that was acknowledged is lost, and
/// memory stays bounded.
@Suite("Attacks on the edge", .serialized)
struct EdgeAttackTests {
  private static let protobuf = [(name: "Content-Type", value: "application/protobuf")]

  private func tell(
    _ edge: RunningEdge, _ body: [UInt8], _ headers: [(name: String, value: String)] = protobuf
  ) throws -> HTTPResponse {
    try HTTPClient.send("POST", edge.base + "/v1/events", headers: headers, body: body, timeoutMilliseconds: 20_000)
  }

  /// A whole request as it is sent.
  private func raw(_ body: [UInt8], more: String = "") -> [UInt8] {
    let head =
      "POST /v1/events HTTP/1.1\r\nHost: edge\r\nContent-Type: application/protobuf\r\n\(more)Content-Length: \(body.count)\r\n\r\n"
    return Array(head.utf8) + body
  }

  private func exchange(_ edge: RunningEdge, _ bytes: [UInt8]) throws -> String {
    let said = try HTTPClient.exchange(bytes, host: "127.0.0.1", port: UInt16(edge.port), timeoutMilliseconds: 20_000)
    return String(decoding: said, as: UTF8.self)
  }

  @Test("batches that come one behind the other on a connection are answered in their order, and each is written once")
  func pipelining() throws {
    let edge = try RunningEdge()
    try edge.publishCatalog()
    let bytes = (0..<10).flatMap {
      raw(RunningEdge.batch(["event-\($0)"]), more: $0 == 9 ? "Connection: close\r\n" : "")
    }
    let said = try exchange(edge, bytes)
    #expect(said.components(separatedBy: "HTTP/1.1 200 ").count == 11, "\(said)")
    #expect(edge.wait { edge.ids.count == 10 })
    #expect(edge.ids == (0..<10).map { "event-\($0)" })
    #expect(edge.stop())
  }

  @Test("what is smuggled behind a batch of doubtful length is neither answered nor written")
  func smuggling() throws {
    let edge = try RunningEdge()
    try edge.publishCatalog()
    let hidden = raw(RunningEdge.batch(["smuggled"]))
    for header in ["Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\n"] {
      let said = try exchange(edge, raw(RunningEdge.batch(["outer"]), more: header) + hidden)
      #expect(said.hasPrefix("HTTP/1.1 400 ") && said.components(separatedBy: "HTTP/1.1 ").count == 2, "\(said)")
    }
    #expect(try tell(edge, RunningEdge.batch(["after"])).status == 200)
    #expect(edge.wait { !edge.ids.isEmpty })
    #expect(edge.ids == ["after"])
    #expect(edge.stop())
  }

  @Test("headers of more than 8 KiB, or more than a hundred, end their connection alone")
  func headers() throws {
    let edge = try RunningEdge()
    try edge.publishCatalog()
    let tooLong = try exchange(
      edge, raw(RunningEdge.batch(["a"]), more: "X-Long: \(String(repeating: "x", count: 9_000))\r\n"))
    #expect(tooLong.isEmpty || tooLong.hasPrefix("HTTP/1.1 4"), "\(tooLong)")
    let tooMany = try exchange(edge, raw(RunningEdge.batch(["b"]), more: (0..<120).map { "X-\($0): 1\r\n" }.joined()))
    #expect(tooMany.hasPrefix("HTTP/1.1 4"), "\(tooMany)")
    #expect(try tell(edge, RunningEdge.batch(["after"])).status == 200)
    #expect(edge.wait { !edge.ids.isEmpty })
    #expect(edge.ids == ["after"])
    #expect(edge.stop())
  }

  @Test("a few bytes that unpack to very many get 413, and take the memory of the limit alone")
  func bombs() throws {
    let edge = try RunningEdge(["HANDBILL_EDGE_ADDRESS_RATE": "0"])
    try edge.publishCatalog()
    // 64 MiB of zeros in 64 KiB.
    let bomb = try Self.gzip(megabytes: 64)
    #expect(bomb.count < 100_000)
    let before = try ResidentBytes.now()
    let zipped = Self.protobuf + [(name: "Content-Encoding", value: "gzip")]
    for _ in 0..<20 {
      for path in ["/v1/events", "/v1/ads"] {
        let response = try HTTPClient.send("POST", edge.base + path, headers: zipped, body: bomb)
        #expect(response.status == 413)
      }
    }
    #expect(try ResidentBytes.now() - before < 32 << 20)
    #expect(try tell(edge, RunningEdge.batch(["after"])).status == 200)
    #expect(edge.stop())
  }

  private static func gzip(megabytes: Int) throws -> [UInt8] {
    let folder = try TemporaryFolder(prefix: "hbg")
    let path = folder.path("bomb.gz")
    _ = try ChildProcess.run(
      .init("/bin/sh", ["-c", "head -c \(megabytes << 20) /dev/zero | gzip -9 -n > \(path)"]))
    return [UInt8](try Data(contentsOf: URL(filePath: path)))
  }

  @Test("half requests keep nobody from being served, take bounded memory, and are hung up on")
  func halfRequests() throws {
    let edge = try RunningEdge(["HANDBILL_EDGE_IDLE": "1s", "HANDBILL_EDGE_ADDRESS_RATE": "0"])
    try edge.publishCatalog()
    let head = "POST /v1/events HTTP/1.1\r\nHost: edge\r\nContent-Type: application/protobuf\r\n"
    let starts: [[UInt8]] = [
      [], Array("POST /v1/ev".utf8), Array(head.utf8), Array("\(head)Content-Length: 100000\r\n\r\nabc".utf8),
      Array("\(head)Transfer-Encoding: chunked\r\n\r\n5\r\nab".utf8),
    ]
    let half = try (0..<400).map { try HalfRequest(port: edge.port, starts[$0 % starts.count]) }
    for number in 0..<20 {
      let began = MonotonicClock.milliseconds
      #expect(try tell(edge, RunningEdge.batch(["event-\(number)"])).status == 200)
      #expect(MonotonicClock.milliseconds - began < 1_000)
    }
    let end = MonotonicClock.milliseconds + 15_000
    for each in half { #expect(each.isHungUp(before: end)) }
    #expect(edge.wait { edge.ids.count == 20 })
    #expect(edge.stop())
  }

  @Test("a flood from one address gets 429, and others are served as before")
  func flood() throws {
    let edge = try RunningEdge([
      "HANDBILL_EDGE_ADDRESS_RATE": "5", "HANDBILL_EDGE_CLIENT_RATE": "0", "HANDBILL_EDGE_TRUSTED_PROXIES": "127.0.0.1",
    ])
    try edge.publishCatalog()
    func tell(_ address: String, _ id: String) throws -> Int {
      try self.tell(edge, RunningEdge.batch([id]), Self.protobuf + [(name: "X-Forwarded-For", value: address)]).status
    }
    let flood = try (0..<200).map { try tell("192.0.2.1", "flood-\($0)") }
    #expect(flood.contains(429))
    #expect(flood.count { $0 == 200 } < 100)
    for number in 2..<30 { #expect(try tell("192.0.2.\(number)", "other-\(number)") == 200) }
    // A proxy may add its line behind those of whoever it speaks for, who cannot take others' names that way.
    let disguised = try (0..<200).map { number in
      try self.tell(
        edge, RunningEdge.batch(["disguised-\(number)"]),
        Self.protobuf + [
          (name: "X-Forwarded-For", value: "198.51.100.\(number)"), (name: "X-Forwarded-For", value: "192.0.2.200"),
        ]
      ).status
    }
    #expect(disguised.count { $0 == 429 } > 100)
    #expect(edge.stop())
  }

  @Test("no path leads out of the images' folder")
  func traversal() throws {
    let folder = try TemporaryFolder(prefix: "hbt")
    try FileManager.default.createDirectory(atPath: folder.path("images"), withIntermediateDirectories: true)
    let secret = Array("GIF89a secret".utf8)
    try Data(secret).write(to: URL(filePath: folder.path("secret")))
    let edge = try RunningEdge(["HANDBILL_EDGE_CREATIVES": folder.path("images")])
    for path in [
      "/v1/creatives/../secret", "/v1/creatives/..%2fsecret", "/v1/creatives/%2e%2e/secret",
      "/v1/creatives/..%5csecret",
      "/v1/creatives/....//secret", "/v1/creatives/\(folder.path("secret"))", "/v1/creatives/%00",
      "//v1/creatives/../../secret", "/v1/creatives/..%252fsecret", "/v1/creatives/..%c0%afsecret",
    ] {
      let said = try exchange(edge, Array("GET \(path) HTTP/1.1\r\nHost: edge\r\nConnection: close\r\n\r\n".utf8))
      #expect(said.hasPrefix("HTTP/1.1 4") && !said.contains("secret"), "\(path): \(said)")
    }
    #expect(edge.stop())
  }

  @Test("pages of foreign origins write nothing and read no answer, whatever they ask by")
  func foreignPages() throws {
    let edge = try RunningEdge(["HANDBILL_EDGE_ORIGINS": "weather=https://weather.example"])
    try edge.publishCatalog()
    for origin in [
      "https://evil.example", "null", "http://weather.example", "https://weather.example.evil.example",
      "https://weather.example:8443", "https://WEATHER.example",
    ] {
      let page = [(name: "Origin", value: origin)]
      for path in ["/v1/ads", "/v1/events"] {
        let preflight = try HTTPClient.send("OPTIONS", edge.base + path, headers: page)
        #expect(preflight.status == 403 && !Self.isShared(preflight), "\(origin)")
      }
      // What a page may send without asking first.
      for type in ["text/plain", "application/x-www-form-urlencoded", "application/protobuf"] {
        let response = try tell(edge, RunningEdge.batch(["foreign"]), page + [(name: "Content-Type", value: type)])
        #expect([403, 415].contains(response.status) && !Self.isShared(response), "\(origin) \(type)")
      }
    }
    #expect(
      try tell(edge, RunningEdge.batch(["own"]), Self.protobuf + [(name: "Origin", value: "https://weather.example")])
        .status == 200
    )
    #expect(edge.wait { !edge.ids.isEmpty })
    #expect(edge.ids == ["own"])
    #expect(edge.stop())
  }

  private static func isShared(_ response: HTTPResponse) -> Bool {
    response.headers.contains { $0.name.lowercased() == "access-control-allow-origin" }
  }

  @Test(
    "a broker that goes away and comes back under load: all that was acknowledged is there, in order, and memory is bounded"
  )
  func brokerUnderLoad() throws {
    let edge = try RunningEdge([
      "HANDBILL_EDGE_DELIVERY_TIMEOUT": "1s", "HANDBILL_EDGE_CLIENT_RATE": "0", "HANDBILL_EDGE_ADDRESS_RATE": "0",
      "HANDBILL_EDGE_IN_FLIGHT": "256",
    ])
    try edge.publishCatalog()
    let taken = Monitor<[String: [String]]>([:])
    let refused = Mutex<[Int: Int]>([:])
    let stop = StopRequest()
    let base = edge.base
    let devices = (0..<8).map { device in
      OwnerThread("device") {
        var number = 0
        while !stop.isRequested {
          let ids = (0..<20).map { "device-\(device)-\(number)-\($0)" }
          let response = try? HTTPClient.send(
            "POST", base + "/v1/events", headers: Self.protobuf,
            body: RunningEdge.batch(ids, client: "client-\(device)"),
            timeoutMilliseconds: 20_000)
          number += 1
          if response?.status == 200 {
            taken.update { $0["client-\(device)", default: []] += ids }
          } else {
            refused.withLock { $0[response?.status ?? 0, default: 0] += 1 }
            stop.wait(milliseconds: 20)
          }
        }
      }
    }
    func count() -> Int { taken.withLock { $0.values.reduce(0) { $0 + $1.count } } }
    #expect(taken.wait(timeoutMilliseconds: 30_000) { $0.count == 8 })
    let before = try ResidentBytes.now()
    for _ in 0..<2 {
      edge.broker.setBroker(1, isUp: false)
      stop.wait(milliseconds: 3_000)
      edge.broker.setBroker(1, isUp: true)
      let at = count()
      #expect(taken.wait(timeoutMilliseconds: 60_000) { $0.values.reduce(0) { $0 + $1.count } > at + 400 })
    }
    stop.make()
    for device in devices { device.join() }
    let statuses = refused.withLock { $0 }
    #expect(Set(statuses.keys) == [503], "\(statuses)")
    #expect(try ResidentBytes.now() - before < 128 << 20)
    let acknowledged = taken.withLock { $0 }
    #expect(edge.wait { Set(acknowledged.values.joined()).isSubset(of: Set(edge.ids)) })
    for (client, ids) in acknowledged {
      let known = Set(ids)
      var seen: Set<String> = []
      let written = edge.written(.impressions).filter { $0.key.map { String(decoding: $0, as: UTF8.self) } == client }
        .compactMap { $0.headers.first { $0.name == Array("ce_id".utf8) }?.text }
        .filter { known.contains($0) && seen.insert($0).inserted }
      #expect(written == ids, "\(client): the order of its events is kept")
    }
    #expect(edge.stop())
  }
}

/// A request that begins and does not go on.
private final class HalfRequest {
  private let connection: LoopbackConnection

  init(port: Int, _ bytes: [UInt8]) throws {
    connection = try LoopbackConnection(port: port)
    try #require(connection.send(bytes))
  }

  func isHungUp(before moment: Int64) -> Bool {
    while true {
      let left = moment - MonotonicClock.milliseconds
      guard left > 0, connection.waitForPeer(timeoutMilliseconds: Int(left)) else { return false }
      // It may be told why first.
      if connection.receive().isEmpty { return true }
    }
  }
}

/// Memory of this process.
private enum ResidentBytes {
  static func now() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
    return try #require(Int(line.filter(\.isNumber))) << 10
  }
}
