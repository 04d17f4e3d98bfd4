import TestServers
import TestValues
import Testing
import Threads

@testable import HTTP

@Suite("Answers that nobody reads")
struct UnreadAnswersTests {
  /// More than the kernel takes of an answer that nobody reads.
  private static let answerBytes = 8 << 20

  /// A client that asks and reads nothing until it is told to.
  private final class IdleReader {
    private let connection: LoopbackConnection

    init(_ server: HTTPServer, _ path: String, body: String? = nil) throws {
      connection = try LoopbackConnection(port: server.port)
      let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
      let head = "\(body == nil ? "GET" : "POST") \(path) HTTP/1.1\r\nHost: x\r\n\(length)\r\n"
      let request = Array((head + (body ?? "")).utf8)
      try #require(connection.send(request))
    }

    /// Until the answer begins to come, or the other side hangs up.
    func waitForAnswer() -> Bool { connection.waitForPeer(timeoutMilliseconds: 20_000) }

    /// How many bytes come until the other side hangs up; nil when it does not within 20 s of silence.
    func readToEnd() -> Int? {
      var total = 0
      while waitForAnswer() {
        let bytes = connection.receive()
        guard !bytes.isEmpty else { return total }
        total += bytes.count
      }
      return nil
    }
  }

  private func withServer(bytesMaximum: Int, _ body: (HTTPServer, String) throws -> Void) throws {
    var limits = HTTPLimits()
    limits.answerBytesInAllMaximum = bytesMaximum
    let answer = HTTPResponse.bytes(
      [UInt8](repeating: 7, count: Self.answerBytes), contentType: "application/octet-stream")
    var router = Router()
    router.get("/now") { _ in answer }
    router.onLater(.get, "/later") { _, reply in reply.answer(answer) }
    router.onLater(.get, "/made") { _, reply in reply.answer(making: { answer }) }
    let shared = SharedBytes(answer.body, counter: SharedBytes.Count())
    router.get("/shared") { _ in
      var response = HTTPResponse(status: 200)
      response.sharedBody = shared
      return response
    }
    router.onLater(.post, "/told") { _, reply in reply.answer(answer) }
    let server = try HTTPServer(port: 0, router: router, limits: limits)
    defer { server.stop(graceMilliseconds: 0) }
    try body(server, "http://127.0.0.1:\(server.port)")
  }

  @Test(
    "they take no more memory than they may: the slowest reader is hung up on, and who reads is served",
    arguments: ["/now", "/later", "/made"])
  func slowReaders(path: String) throws {
    let bytesMaximum = 3 * Self.answerBytes
    try withServer(bytesMaximum: bytesMaximum) { server, base in
      var idle: [IdleReader] = []
      for _ in 0..<10 {
        idle.append(try IdleReader(server, path))
        #expect(idle.last?.waitForAnswer() == true)
        #expect(server.context.connections.answerBytes <= 2 * bytesMaximum)
      }
      // While those on which was hung up still hold their memory, one may be refused; who comes again is served.
      let isServed = Waiting.until {
        (try? HTTPClient.get(base + path, timeoutMilliseconds: 20_000))?.body.count == Self.answerBytes
      }
      #expect(isServed)
      let first = try #require(idle.first?.readToEnd())
      #expect(first < Self.answerBytes)
      #expect(Waiting.until { server.context.connections.answerBytes <= bytesMaximum })
      idle = []
      #expect(Waiting.until { server.context.connections.answerBytes == 0 })
    }
  }

  @Test("where there is no room at all, the newest gets 503 without a body and is hung up on; the next is served")
  func refused() throws {
    try withServer(bytesMaximum: 1 << 20) { server, base in
      // Alone it is taken, however large it is.
      let idle = try IdleReader(server, "/now")
      #expect(idle.waitForAnswer())
      let refused = try HTTPClient.get(base + "/later")
      #expect(refused.status == 503 && refused.body.isEmpty)
      let headers = Dictionary(refused.headers.map { ($0.name, $0.value) }) { first, _ in first }
      #expect(headers["connection"]?.lowercased() == "close" && headers["retry-after"] == "2")
      #expect(try #require(idle.readToEnd()) < Self.answerBytes)
      #expect(Waiting.until { (try? HTTPClient.get(base + "/now"))?.body.count == Self.answerBytes })
    }
  }

  @Test("who takes too long over an answer is hung up on, one that others share too", arguments: ["/now", "/shared"])
  func tooLong(path: String) throws {
    try withServer(bytesMaximum: 2 * Self.answerBytes) { server, base in
      let idle = try IdleReader(server, path)
      #expect(idle.waitForAnswer())
      let connections = server.context.connections
      connections.hangUp(owingSinceBefore: .min, answeredBefore: .min)
      #expect(try HTTPClient.get(base + path, timeoutMilliseconds: 20_000).body.count == Self.answerBytes)
      connections.hangUp(owingSinceBefore: .min, answeredBefore: .max)
      #expect(try #require(idle.readToEnd()) < Self.answerBytes)
    }
  }

  @Test("a request's body is gone as soon as its answer is on its way")
  func bodies() throws {
    try withServer(bytesMaximum: 2 * Self.answerBytes) { server, _ in
      let connections = server.context.connections
      let idle = try IdleReader(server, "/told", body: String(repeating: "b", count: 1_000))
      #expect(idle.waitForAnswer())
      #expect(connections.answerBytes == Self.answerBytes && connections.bodyBytes == 0)
    }
  }
}

@Suite("What connections have in memory")
struct OpenConnectionsTests {
  /// No socket of this process: to hang up on it does nothing.
  private static let socket: Int32 = .max

  private func handles(_ count: Int) throws -> [OpaquePointer] {
    try (1...count).map { try #require(OpaquePointer(bitPattern: $0 << 4)) }
  }

  @Test("one household has only so many connections, an address of IPv4 or 64 bits of IPv6")
  func households() throws {
    let addresses: [(high: UInt64, low: UInt64)] = [
      (0x2001_0DB8_0000_0001, 1), (0x2001_0DB8_0000_0001, 2), (0x2001_0DB8_0000_0001, 3), (0x2001_0DB8_0000_0002, 1),
      (0, 0xFFFF_C000_0201), (0, 0xFFFF_C000_0201), (0, 0xFFFF_C000_0201), (0, 0xFFFF_C000_0202),
    ]
    let connections = OpenConnections(bodyBytesMaximum: 1_000, answerBytesMaximum: 1_000, householdMaximum: 2)
    let all = try handles(addresses.count)
    func begin(_ index: Int) {
      let household = Household(high: addresses[index].high, low: addresses[index].low)
      connections.begin(all[index], socket: Self.socket, household: household)
    }
    for index in all.indices { begin(index) }
    // From whom is hung up on nothing is taken.
    #expect(all.map { connections.take($0, bytes: 1) } == [true, true, false, true, true, true, false, true])
    // Who was refused has no place that another could get; who leaves has.
    connections.end(all[2])
    begin(2)
    #expect(!connections.take(all[2], bytes: 1))
    for index in [0, 2] { connections.end(all[index]) }
    begin(2)
    #expect(connections.take(all[2], bytes: 1))
  }

  @Test("beyond the bound of bodies the slowest is hung up on, of those with more than a little if there are any")
  func slowest() throws {
    let connections = OpenConnections(bodyBytesMaximum: 4_000, answerBytesMaximum: 1_000)
    let all = try handles(4)
    for each in all { connections.begin(each, socket: Self.socket) }
    // Where two begin in one microsecond either is the slowest: so there is only one of its kind.
    #expect(connections.take(all[0], bytes: 100) && connections.take(all[1], bytes: 3_900))
    #expect(connections.take(all[2], bytes: 100))
    #expect(!connections.take(all[1], bytes: 1) && connections.take(all[0], bytes: 1))
    connections.end(all[1])
    // All but one are answered: he has but a little, and is the only one who owes.
    connections.noteRequest(all[2])
    connections.noteRequest(all[3])
    #expect(connections.take(all[3], bytes: 4_000))
    #expect(!connections.take(all[0], bytes: 1) && connections.take(all[2], bytes: 1))
  }

  @Test("twice the bound is never exceeded, even by those on whom nobody can hang up")
  func twice() throws {
    let connections = OpenConnections(bodyBytesMaximum: 10, answerBytesMaximum: 100)
    let all = try (1...4).map { try #require(OpaquePointer(bitPattern: $0 << 4)) }
    for each in all { connections.begin(each, socket: -1) }
    func take(_ index: Int, _ bytes: Int) -> Bool {
      connections.takeAnswer(UInt(bitPattern: all[index]), bytes: bytes)
    }
    #expect(take(0, 90) && take(1, 90) && connections.answerBytes == 180)
    #expect(!take(2, 30) && take(2, 20) && take(3, 0) && connections.answerBytes == 200)
    connections.awaitRequest(all[0])
    #expect(connections.answerBytes == 110 && take(3, 90) && connections.answerBytes == 200)
    connections.end(all[1])
    #expect(connections.answerBytes == 110)
    for each in all { connections.end(each) }
    #expect(connections.answerBytes == 0 && connections.count == 0)
    #expect(!take(0, 1), "nobody is there to read it")
  }
}
