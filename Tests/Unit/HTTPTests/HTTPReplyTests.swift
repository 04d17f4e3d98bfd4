import Dispatch
import Foundation
import Glibc
import Synchronization
import TestServers
import Testing
import Threads

@testable import HTTP

/// Keeps what a handler was given until a test says what becomes of it.
private final class Shelf: Sendable {
  private let replies = Monitor<[HTTPReply]>([])

  func put(_ reply: HTTPReply) { replies.update { $0.append(reply) } }

  /// The first so many, once they are there.
  func take(_ count: Int) -> [HTTPReply] {
    replies.waitForResult(timeoutMilliseconds: 20_000) { replies -> [HTTPReply]? in
      guard replies.count >= count else { return nil }
      defer { replies.removeFirst(count) }
      return Array(replies.prefix(count))
    } ?? []
  }
}

@Suite("HTTP answers that come later, and connections that give nothing")
struct HTTPReplyTests {
  private static func router(_ shelf: Shelf) -> Router {
    var router = Router()
    router.onLater(.post, "/later") { _, reply in shelf.put(reply) }
    router.onLater(.get, "/at-once") { request, reply in reply.answer(.text("at once to \(request.clientAddress)")) }
    router.onLater(.get, "/never") { _, _ in }
    router.get("/now") { _ in .text("now") }
    return router
  }

  private func withServer(
    _ limits: HTTPLimits = HTTPLimits(), _ body: (HTTPServer, String, Shelf) throws -> Void
  ) throws {
    let shelf = Shelf()
    let server = try HTTPServer(port: 0, router: Self.router(shelf), limits: limits)
    defer { server.stop(graceMilliseconds: 0) }
    try body(server, "http://127.0.0.1:\(server.port)", shelf)
  }

  @Test("what is not admitted reaches no handler, whether it answers at once or later")
  func admission() throws {
    let reached = Monitor(0)
    var router = Router { request throws(HTTPProblem) in
      if request.header("x-name") != "known" { throw HTTPProblem(421, "nobody of that name") }
    }
    router.get("/now") { _ in
      reached.update { $0 += 1 }
      return .text("now")
    }
    router.onLater(.get, "/later") { _, reply in
      reached.update { $0 += 1 }
      reply.answer(.text("later"))
    }
    let server = try HTTPServer(port: 0, router: router)
    defer { server.stop(graceMilliseconds: 0) }
    for path in ["/now", "/later"] {
      let url = "http://127.0.0.1:\(server.port)\(path)"
      let refused = try HTTPClient.get(url)
      #expect(refused.status == 421 && text(refused)?.contains("nobody of that name") == true)
      #expect(try HTTPClient.send("GET", url, headers: [("X-Name", "known")]).status == 200)
    }
    #expect(reached.withLock { $0 } == 2)
  }

  private func text(_ response: HTTPResponse?) -> String? { response.map { String(decoding: $0.body, as: UTF8.self) } }

  /// That the server answers others.
  private func expectNow(_ base: String) throws {
    let response = try HTTPClient.get(base + "/now")
    #expect(text(response) == "now")
  }

  /// Asks on a thread of its own.
  private func ask(_ base: String, body: [UInt8] = [1]) -> (thread: OwnerThread, answer: Monitor<HTTPResponse?>) {
    let answer = Monitor<HTTPResponse?>(nil)
    let thread = OwnerThread("asks") {
      let response = try? HTTPClient.send("POST", base + "/later", body: body, timeoutMilliseconds: 20_000)
      answer.update { $0 = response }
    }
    return (thread, answer)
  }

  @Test("many requests wait at the same time on few threads, and each gets its own answer, with or without a body")
  func waiting() throws {
    var limits = HTTPLimits()
    limits.threadCount = 2
    try withServer(limits) { _, base, shelf in
      let asked = (0..<40).map { ask(base, body: $0.isMultiple(of: 2) ? [] : [UInt8](repeating: 7, count: 20_000)) }
      let replies = shelf.take(40)
      #expect(replies.count == 40)
      // Nobody holds up anybody.
      try expectNow(base)
      for (index, reply) in replies.enumerated().reversed() {
        reply.answer(.text("\(index)"))
        reply.answer(.text("a second one"))
      }
      for each in asked { each.thread.join() }
      #expect(Set(asked.compactMap { text($0.answer.withLock { $0 }) }) == Set((0..<40).map(String.init)))
    }
  }

  @Test("an answer that is there before the handler returns needs no waiting; one that nobody gives is 500")
  func atOnceAndNever() throws {
    try withServer { _, base, _ in
      for _ in 0..<50 {
        let atOnce = text(try HTTPClient.get(base + "/at-once"))
        #expect(atOnce == "at once to 127.0.0.1")
      }
      let never = try HTTPClient.get(base + "/never")
      #expect(never.status == 500)
    }
  }

  @Test("an answer can be made by the thread that writes it; of two, the one that does not count is never made")
  func madeLater() throws {
    try withServer { _, base, shelf in
      let asked = ask(base)
      let makers = Monitor<[pthread_t]>([])
      for reply in shelf.take(1) {
        reply.answer(making: {
          makers.update { $0.append(pthread_self()) }
          return .text("made later")
        })
        reply.answer(making: {
          Issue.record("a second one was made")
          return .text("a second one")
        })
      }
      asked.thread.join()
      #expect(text(asked.answer.withLock { $0 }) == "made later")
      #expect(makers.withLock { $0.count } == 1 && makers.withLock { $0.first } != pthread_self())
    }
  }

  @Test("a client that left while it waited takes nothing with it")
  func gone() throws {
    try withServer { _, base, shelf in
      #expect(throws: HTTPClientError.timedOut) {
        try HTTPClient.send("POST", base + "/later", body: [1], timeoutMilliseconds: 100)
      }
      for reply in shelf.take(1) { reply.answer(.text("too late")) }
      try expectNow(base)
    }
  }

  @Test("a stop answers 503 to what still waits when its time is over")
  func stopping() throws {
    let shelf = Shelf()
    let server = try HTTPServer(port: 0, router: Self.router(shelf))
    let asked = ask("http://127.0.0.1:\(server.port)")
    let kept = shelf.take(1)
    server.stop(graceMilliseconds: 50)
    asked.thread.join()
    // It may have been cut off before the answer was written; it does not hang.
    #expect(asked.answer.withLock { $0 }.map { $0.status == 503 } != false)
    for reply in kept { reply.answer(.text("after the end")) }
  }

  @Test("who dribbles is hung up on after twice the idle time, and nobody else")
  func dribbling() throws {
    var limits = HTTPLimits()
    limits.idleSeconds = 1
    try withServer(limits) { server, base, _ in
      let dribbler = try Dribbler(port: server.port)
      let began = MonotonicClock.milliseconds
      while dribbler.sendsByte(), MonotonicClock.milliseconds - began < 20_000 {
        try expectNow(base)
        dribbler.wait(milliseconds: 300)
      }
      let lasted = MonotonicClock.milliseconds - began
      #expect((1_500..<8_000).contains(lasted), "it lasted \(lasted) ms")
    }
  }

  @Test("one address may have only so many connections")
  func perAddress() throws {
    var limits = HTTPLimits()
    limits.connectionsOfAddressMaximum = 3
    try withServer(limits) { server, base, _ in
      let held = try (0..<3).map { _ in try Dribbler(port: server.port) }
      for each in held { #expect(each.sendsByte()) }
      let refused = try Dribbler(port: server.port)
      refused.wait(milliseconds: 5_000)
      #expect(!refused.sendsByte())
      // They are open until here.
      withExtendedLifetime(held) {}
    }
  }
}

/// A connection that sends one byte of a request at a time.
private final class Dribbler {
  private let connection: LoopbackConnection
  private var rest = Array("GET /now HTTP/1.1\r\nHost: x\r\nX-Long: ".utf8)[...]

  init(port: Int) throws { connection = try LoopbackConnection(port: port) }

  /// False when the other side has hung up.
  func sendsByte() -> Bool {
    let byte = rest.popFirst() ?? UInt8(ascii: "x")
    return !connection.waitForPeer(timeoutMilliseconds: 0) && connection.send([byte])
  }

  /// Until so much time is over, or the other side says something.
  func wait(milliseconds: Int) { connection.waitForPeer(timeoutMilliseconds: milliseconds) }
}
