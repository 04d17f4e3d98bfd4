import Synchronization
import TestServers
import TestValues
import Testing
import Threads

@testable import HTTP

@Suite("Where a request ends: no two readers may take it for different ones")
struct HTTPFramingTests {
  /// What handlers were given.
  private final class Reached: Sendable {
    private let list = Mutex<[String]>([])

    var all: [String] { list.withLock { $0 } }

    func add(_ request: HTTPRequest) {
      list.withLock { $0.append("\(request.path) \(String(decoding: request.body, as: UTF8.self))") }
    }
  }

  private func withServer(
    _ limits: HTTPLimits = HTTPLimits(), _ body: (HTTPServer, Reached) throws -> Void
  ) throws {
    let reached = Reached()
    var router = Router()
    router.on(.post, "/told") { request in
      reached.add(request)
      return .text("told")
    }
    router.get("/secret") { request in
      reached.add(request)
      return .text("secret")
    }
    let server = try HTTPServer(port: 0, router: router, limits: limits)
    defer { server.stop(graceMilliseconds: 0) }
    try body(server, reached)
  }

  /// Sends bytes, and gives all that comes until the other side hangs up.
  private func exchange(_ text: String, _ server: HTTPServer) throws -> String {
    let bytes = try HTTPClient.exchange(
      Array(text.utf8), host: "127.0.0.1", port: UInt16(server.port), timeoutMilliseconds: 10_000)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The statuses of all answers.
  private static func statuses(_ said: String) -> [Substring] {
    said.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
  }

  private static let smuggled = "GET /secret HTTP/1.1\r\nHost: x\r\n\r\n"

  @Test(
    "a request of doubtful length is refused, the connection ends, and what is smuggled behind it is no request",
    arguments: [
      "Content-Length: 6\r\nContent-Length: 0", "Content-Length: 4\r\nContent-Length: 4",
      "Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4",
      "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: xchunked",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding: \u{B}chunked",
      "Content-Length: 4, 4", "Content-Length: +4", "Content-Length: 0x4", "Content-Length: 4 4",
      "Content-Length : 4", "Content-Length\t: 4", " Content-Length: 4", "Content[Length: 4",
      "Content-Length: 99999999999999999999999",
    ])
  func smuggling(header: String) throws {
    try withServer { server, reached in
      let said = try exchange("POST /told HTTP/1.1\r\nHost: x\r\n\(header)\r\n\r\n0\r\n\r\n\(Self.smuggled)", server)
      // The library sends the head of a refusal of its own twice before it closes.
      #expect(Self.statuses(said).allSatisfy { $0.hasPrefix("4") } && Self.statuses(said).count <= 2, "\(said)")
      #expect(reached.all.isEmpty, "\(reached.all)")
    }
  }

  @Test(
    "what takes long to be compared, as do very many combining marks, is not looked at in any place",
    arguments: ["/%@", "/secret?%@=1", "/secret?a=%@", "/%@/secret", "/secret|X-%@: 1", "/secret|Origin: %@"])
  func combiningMarks(place: String) throws {
    let marks = String(repeating: "\u{300}", count: 300)
    let escaped = String(repeating: "%CC%80", count: 300)
    try withServer { server, reached in
      for text in place.contains("|") ? [marks] : [marks, escaped] {
        let parts = place.replacing("%@", with: text).split(separator: "|")
        let header = parts.count > 1 ? "\(parts[1])\r\n" : ""
        let said = try exchange("GET \(parts[0]) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(header)\r\n", server)
        #expect(Self.statuses(said) == ["400"], "\(said)")
      }
      #expect(reached.all.isEmpty, "\(reached.all)")
    }
  }

  @Test(
    "broken chunks give nothing to a handler, and end the connection",
    arguments: [
      "zz\r\nabc\r\n0\r\n\r\n", "-1\r\nabc\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n",
      "3\r\nabcde\r\n0\r\n\r\n",
      "3abc\r\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n", "3\r\nabc0\r\n\r\n",
    ])
  func chunks(body: String) throws {
    var limits = HTTPLimits()
    limits.idleSeconds = 1
    try withServer(limits) { server, reached in
      let head = "POST /told HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      let said = try exchange(head + body + Self.smuggled, server)
      #expect(Self.statuses(said).allSatisfy { $0.hasPrefix("4") } && Self.statuses(said).count <= 2, "\(said)")
      #expect(reached.all.isEmpty, "\(reached.all)")
    }
  }

  @Test("whole chunks are a body; requests one behind the other are answered in their order")
  func pipelined() throws {
    try withServer { server, reached in
      let chunked =
        "POST /told HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;name=value\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
      let counted = "POST /told HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nfgh"
      let last = "GET /secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
      let said = try exchange(chunked + counted + last, server)
      #expect(Self.statuses(said) == ["200", "200", "200"], "\(said)")
      #expect(said.hasSuffix("secret"))
      #expect(reached.all == ["/told abcde", "/told fgh", "/secret "])
    }
  }

  @Test("too many headers and query parameters end the connection before the body")
  func tooManyFields() throws {
    try withServer { server, reached in
      let headers = (0..<150).map { "X-\($0): 1\r\n" }.joined()
      let said = try exchange(
        "POST /told HTTP/1.1\r\nHost: x\r\n\(headers)Content-Length: 4\r\n\r\nabcd\(Self.smuggled)", server)
      #expect(Self.statuses(said) == ["400"], "\(said)")
      #expect(reached.all.isEmpty)
    }
  }

  @Test(
    "bodies that come in part take no more memory than they may: the slowest are hung up on, and whoever comes is served"
  )
  func manyBodies() throws {
    var limits = HTTPLimits()
    limits.bodyBytesMaximum = 100_000
    limits.bodyBytesInAllMaximum = 1_000_000
    limits.connectionsMaximum = 500
    try withServer(limits) { server, _ in
      let begun = Array("POST /told HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n".utf8)
      let part = begun + [UInt8](repeating: 1, count: 99_000)
      var slow: [LoopbackConnection] = []
      for number in 1...60 {
        let connection = try LoopbackConnection(port: server.port)
        try #require(connection.send(part))
        slow.append(connection)
        #expect(server.context.connections.bodyBytes <= 2_000_000)
        guard number.isMultiple(of: 10) else { continue }
        // While those on which was hung up still hold their memory, one may be refused; who comes again is served.
        let isServed = Waiting.until {
          let quick = try? HTTPClient.send(
            "POST", "http://127.0.0.1:\(server.port)/told", body: [UInt8](repeating: 2, count: 50_000))
          return quick?.status == 200
        }
        #expect(isServed)
      }
      // Most were hung up on, the first of them first.
      #expect(Self.isHungUp(slow[0]))
      #expect(slow.count { Self.isHungUp($0) } >= 40)
      #expect(server.context.connections.bodyBytes <= 1_100_000)
      // They are open until here.
      withExtendedLifetime(slow) {}
    }
  }

  /// Whether the other side ends the connection, within a moment.
  private static func isHungUp(_ connection: LoopbackConnection) -> Bool {
    connection.waitForPeer(timeoutMilliseconds: 200) && connection.receive().isEmpty
  }
}
