import Dispatch
import Foundation
import JSON
import Synchronization
import Testing
import Threads

@testable import HTTP

private final class FailureList: Sendable {
  private let list = Mutex<[HTTPFailure]>([])
  var first: HTTPFailure? { list.withLock { $0.first } }
  func add(_ failure: HTTPFailure) { list.withLock { $0.append(failure) } }
}

@Suite("HTTP server")
struct HTTPServerTests {
  private struct Broken: Error {}

  private static func router() -> Router {
    var router = Router()
    router.get("/hello") { _ in .text("hello") }
    router.get("/query") { request in .text(request.query.map { "\($0.name)=\($0.value)" }.joined(separator: ";")) }
    router.get("/apps/:app/ads/:ad") { .text("\($0.parameters["app"] ?? "")|\($0.parameters["ad"] ?? "")") }
    router.on(.post, "/echo") { request in
      .bytes(request.body, contentType: request.header("Content-Type") ?? "application/octet-stream")
    }
    router.get("/broken") { _ in throw Broken() }
    router.get("/refused") { _ in throw HTTPProblem(409, "no \"more\"\nof that") }
    router.get("/split") { _ in HTTPResponse(status: 200, headers: [("X-Name", "a\r\nX-Injected: b")]) }
    router.get("/page") { _ in .html(.element("p") { "<b>" }) }
    return router
  }

  private func withServer(
    limits: HTTPLimits = HTTPLimits(), onFailure: @escaping @Sendable (HTTPFailure) -> Void = { _ in },
    _ body: (HTTPServer, String) throws -> Void
  ) throws {
    let server = try HTTPServer(port: 0, router: Self.router(), limits: limits, onFailure: onFailure)
    defer { server.stop() }
    try body(server, "http://127.0.0.1:\(server.port)")
  }

  private func text(_ response: HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }

  private func header(_ name: String, _ response: HTTPResponse) -> String? {
    response.headers.first { $0.name == name }?.value
  }

  @Test(
    "paths, parameters and queries arrive decoded",
    arguments: [
      ("/hello", 200, "hello"), ("/hello/", 200, "hello"), ("/query?a=1&b=x%20y&c=%C3%A9", 200, "a=1;b=x y;c=é"),
      ("/query?a=1+2", 200, "a=1 2"), ("/apps/one/ads/two", 200, "one|two"), ("/apps/a%2Fb/ads/c", 200, "a/b|c"),
    ])
  func roundTrips(path: String, status: Int, expected: String) throws {
    try withServer { _, base in
      let response = try HTTPClient.get(base + path)
      #expect(response.status == status)
      #expect(text(response) == expected)
      #expect(header("x-content-type-options", response) == "nosniff")
    }
  }

  @Test(
    "what is not there or not well formed has its status",
    arguments: [
      ("GET", "/absent", 404), ("GET", "/", 404), ("POST", "/hello", 405), ("DELETE", "/echo", 405),
      ("BREW", "/hello", 405), ("GET", "/hello%00x", 400), ("GET", "/%zz", 400), ("GET", "/query?a=%ff", 400),
      ("GET", "/apps//ads/x", 404), ("GET", "/hello/../hello", 404),
      ("GET", "/" + String(repeating: "a/", count: 40), 400),
      ("GET", "/query?" + (0..<200).map { "p\($0)=1" }.joined(separator: "&"), 400),
    ])
  func statuses(method: String, path: String, status: Int) throws {
    let words = [400: "badRequest", 404: "notFound", 405: "methodNotAllowed"]
    try withServer { _, base in
      let response = try HTTPClient.send(method, base + path)
      #expect(response.status == status)
      #expect(header("content-type", response) == "application/problem+json")
      let problem = try JSONValue.parse(response.body)
      #expect(problem["number"] == .integer(status) && problem["reason"] == .text(words[status] ?? ""))
    }
  }

  @Test("405 says what is allowed, and HEAD is GET without a body")
  func allowedMethods() throws {
    try withServer { _, base in
      #expect(header("allow", try HTTPClient.send("POST", base + "/hello")) == "GET, HEAD")
      let head = try HTTPClient.send("HEAD", base + "/hello")
      #expect(head.status == 200)
      #expect(head.body.isEmpty && header("content-length", head) == "5")
    }
  }

  @Test("a body comes back byte for byte up to the limit", arguments: [1, 1_000, 65_536, 1_048_576])
  func bodies(count: Int) throws {
    let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try withServer { _, base in
      let response = try HTTPClient.send(
        "POST", base + "/echo", headers: [("Content-Type", "application/x-test")], body: body,
        timeoutMilliseconds: 20_000)
      #expect(response.status == 200)
      #expect(response.body == body)
      #expect(header("content-type", response) == "application/x-test")
    }
  }

  @Test("a body one byte too large gets 413, with a length and without one")
  func tooLarge() throws {
    var limits = HTTPLimits()
    limits.bodyBytesMaximum = 1_000
    try withServer(limits: limits) { server, base in
      let whole = try HTTPClient.send("POST", base + "/echo", body: [UInt8](repeating: 1, count: 1_001))
      #expect(whole.status == 413)
      let chunk = "3E9\r\n" + String(repeating: "x", count: 1_001) + "\r\n0\r\n\r\n"
      let request = "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk
      let raw = try HTTPClient.exchange(Array(request.utf8), host: "127.0.0.1", port: UInt16(server.port))
      #expect(try HTTPClient.parse(raw).status == 413)
      #expect(try HTTPClient.get(base + "/hello").status == 200)
    }
  }

  @Test(
    "garbage is refused or cut off, and the server goes on",
    arguments: [
      "\u{0}\u{1}\u{2}\r\n\r\n", "GET\r\n\r\n", "GET /hello HTTP/9.9\r\n\r\n", "\r\n\r\n\r\n",
      "POST /echo HTTP/1.1\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", "GET /hello HTTP/1.1\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "GET /\(String(repeating: "a", count: 40_000)) HTTP/1.1\r\nHost: x\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ])
  func garbage(request: String) throws {
    var limits = HTTPLimits()
    limits.idleSeconds = 1
    try withServer(limits: limits) { (server: HTTPServer, base: String) throws -> Void in
      let raw = try? HTTPClient.exchange(
        Array(request.utf8), host: "127.0.0.1", port: UInt16(server.port), timeoutMilliseconds: 10_000)
      let answer: HTTPResponse? = raw.flatMap { try? HTTPClient.parse($0) }
      #expect(answer.map { $0.status >= 400 } != false)
      let next = try HTTPClient.get(base + "/hello")
      #expect(next.status == 200)
    }
  }

  @Test("a handler's failure is 500 with an id that the log has, and without its reason")
  func failures() throws {
    let failures = FailureList()
    let note: @Sendable (HTTPFailure) -> Void = { failure in failures.add(failure) }
    try withServer(onFailure: note) { _, base in
      let response = try HTTPClient.get(base + "/broken")
      #expect(response.status == 500)
      let failure = try #require(failures.first)
      #expect(text(response).contains(failure.id))
      #expect(!text(response).contains("Broken") && failure.reason.contains("Broken"))
    }
  }

  @Test("a handler's problem is answered as it says, as valid JSON")
  func problems() throws {
    try withServer { _, base in
      let response = try HTTPClient.get(base + "/refused")
      let object = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
      #expect(response.status == 409)
      #expect(object?["detail"] as? String == "no \"more\"\nof that")
    }
  }

  @Test("a line end in a header cannot split the response")
  func responseSplitting() throws {
    try withServer { _, base in
      let response = try HTTPClient.get(base + "/split")
      #expect(response.status == 500)
      #expect(header("x-injected", response) == nil)
    }
  }

  @Test("a page carries a content security policy")
  func pages() throws {
    try withServer { _, base in
      let response = try HTTPClient.get(base + "/page")
      #expect(text(response) == "<!DOCTYPE html>\n<p>&lt;b&gt;</p>")
      #expect(header("content-security-policy", response)?.contains("default-src 'none'") == true)
    }
  }

  @Test("requests at the same time get each their own answer")
  func concurrent() throws {
    try withServer { _, base in
      let wrong = Mutex(0)
      DispatchQueue.concurrentPerform(iterations: 64) { index in
        let body = [UInt8](repeating: UInt8(index), count: 10_000 + index)
        let response = try? HTTPClient.send("POST", base + "/echo", body: body, timeoutMilliseconds: 20_000)
        if response?.body != body { wrong.withLock { $0 += 1 } }
      }
      #expect(wrong.withLock { $0 } == 0)
    }
  }

  @Test("a stop lets a request that has begun end, and takes no new one")
  func gracefulStop() throws {
    let begun = StopRequest()
    let goOn = StopRequest()
    var router = Router()
    router.get("/slow") { _ in
      begun.make()
      goOn.wait()
      return .text("done")
    }
    let server = try HTTPServer(port: 0, router: router)
    let base = "http://127.0.0.1:\(server.port)"
    let answer = Mutex<String?>(nil)
    let client = OwnerThread("client") {
      let response = try? HTTPClient.get(base + "/slow", timeoutMilliseconds: 20_000)
      answer.withLock { $0 = response.map { String(decoding: $0.body, as: UTF8.self) } }
    }
    begun.wait()
    let stop = OwnerThread("stop") { server.stop(graceMilliseconds: 20_000) }
    goOn.make()
    client.join()
    stop.join()
    #expect(answer.withLock { $0 } == "done")
    #expect(throws: HTTPClientError.self) { try HTTPClient.get(base + "/slow", timeoutMilliseconds: 500) }
  }

  @Test("an address that is none, and a port that is taken, are said so")
  func cannotListen() throws {
    #expect(throws: HTTPServerError.invalidAddress("nowhere")) {
      try HTTPServer(address: "nowhere", port: 0, router: Router())
    }
    try withServer { server, _ in
      let error = #expect(throws: HTTPServerError.self) {
        try HTTPServer(port: server.port, settings: ["AN_ADDRESS", "A_PORT"], router: Router())
      }
      let taken = "cannot listen on 127.0.0.1 port \(server.port): Address already in use"
      #expect(error?.description == taken + "; choose another by AN_ADDRESS or A_PORT")
    }
  }
}
