import AdBasics
import AdEvents
import Synchronization
import Testing
import Threads

@testable import AdClient

/// Between a device and the edge stand captive portals and proxies, and an address may be wrong.
@Suite("Who answers in the edge's place")
struct EdgeStrangerTests {
  /// What is answered in place of a result, none of which is the edge's word on an event.
  enum Answer: CaseIterable, Sendable {
    case portal, portalOfNoType, loginPage, unfinished, tooMany, wrongPlace, noContent, foreignForbidden, unauthorized
    case appKeyWrong, malformed, notFound, tooLargeAlone, proxyLogin, timedOut, tooEarly, throttled, failure, badGateway
    case unavailable, wrongPath

    /// - Parameter events: how many were sent together.
    func reply(to events: Int) -> SmallServer.Reply {
      switch self {
      case .portal: .page(200)
      case .portalOfNoType: SmallServer.Reply(body: Array("log in".utf8), contentType: "")
      case .loginPage: .page(302, headers: ["Location: http://127.0.0.1:1/login"])
      case .unfinished: .result(taken: events - 1)
      case .tooMany: .result(taken: events + 1)
      case .wrongPlace: .result(taken: events - 1, refused: [events: "forged"])
      case .noContent: SmallServer.Reply(status: 204)
      case .foreignForbidden: .page(403)
      case .unauthorized: .page(401)
      case .appKeyWrong: .problem(403, "A1: the app key is unknown", number: 86)
      case .malformed: .problem(400, "no message", number: 68)
      case .notFound: .page(404)
      case .tooLargeAlone: .page(413)
      case .proxyLogin: .page(407)
      case .timedOut: .page(408)
      case .tooEarly: .page(425)
      case .throttled: .problem(429, "too much", number: 193, retryAfter: "1")
      case .failure: .page(500)
      case .badGateway: .page(502)
      case .unavailable: .problem(503, "draining", number: 194, retryAfter: "1")
      case .wrongPath: .problem(404, "there is nothing at this path", number: 404)
      }
    }

    var kind: AdConnectionProblem.Kind {
      switch self {
      case .appKeyWrong: .unauthorized
      case .malformed: .other
      case .timedOut, .tooEarly, .throttled, .failure, .badGateway, .unavailable: .busy
      default: .notTheNetwork
      }
    }
  }

  @Test(
    "Nothing but the edge's word on an event ends it: whatever else is answered, it is told again",
    arguments: Answer.allCases)
  func nothingIsLost(answer: Answer) throws {
    let isOpen = Atomic(false)
    let server = SmallServer { request, _ in
      let events = ToldBatch(request.body).ids.count
      return isOpen.load(ordering: .acquiring) ? .result(taken: events) : answer.reply(to: events)
    }
    defer { server.stop() }
    let warnings = Monitor<[String]>([])
    let transport = try edgeTransport(server.address) { entry in warnings.update { $0.append(entry.text) } }
    defer { transport.close(timeoutMilliseconds: 0) }
    let ends = Monitor<[EventEnd]>([])
    let events = try (0..<2).map { try sampleEvent(UInt8($0), client: "client-1") }
    for event in events {
      let isTaken = transport.send(event) { end in ends.update { $0.append(end) } }
      #expect(isTaken)
    }
    #expect(warnings.wait(timeoutMilliseconds: 10_000) { !$0.isEmpty })
    #expect(transport.connection.problem?.kind == answer.kind)
    let sentence = transport.connection.problem?.detail ?? ""
    #expect(warnings.withLock { $0 }.contains(sentence), "the log says what the connection is like")
    #expect(answer.kind != .notTheNetwork || sentence.contains("\(server.address) is not the network's edge"))
    #expect(ends.withLock { $0.isEmpty })
    isOpen.store(true, ordering: .releasing)
    #expect(ends.wait(timeoutMilliseconds: 30_000) { $0.count == 2 })
    #expect(ends.withLock { $0 } == [.acknowledged, .acknowledged])
    #expect(transport.connection == .connected)
    let told = server.requests.flatMap { ToldBatch($0.body).ids }
    #expect(Set(told) == Set(events.map(\.id.description)), "they keep their ids")
  }

  @Test(
    "What the edge refuses by itself is gone, counted, said in the log, and in no tally",
    arguments: [AdStorage.memory, .none])
  func refused(storage: AdStorage) async throws {
    let server = SmallServer { request, _ in
      .result(taken: ToldBatch(request.body).ids.count - 1, refused: [0: "tokenForged: the token is not the network's"])
    }
    defer { server.stop() }
    let warnings = Mutex<[String]>([])
    let facts = Mutex(0)
    var options = AdClientOptions()
    options.storage = storage
    options.country = Country("DE")
    options.log = { entry in warnings.withLock { $0.append(entry.text) } }
    let client = try AdNetworkClient(
      app: sampleApp, key: "key", via: .edge(server.address, batchMilliseconds: 200), options: options
    ) { _ in facts.withLock { $0 += 1 } }
    for number in 0..<3 {
      let report = AdReport(.viewed, .ad(try sampleAd(UInt8(number))), at: DeviceClock.monotonic)
      #expect(client.session.report(report, placement: try #require(PlacementID("home")), requestID: nil))
    }
    #expect(await client.close(timeoutMilliseconds: 20_000))
    let batches = server.requests.count
    #expect((1...3).contains(batches))
    #expect(client.eventsRefused == batches && client.eventsWaiting == 0)
    #expect(facts.withLock { $0 } == 3 - batches)
    #expect(
      warnings.withLock { $0.count { $0.hasSuffix("was refused: tokenForged: the token is not the network's") } }
        == batches)
  }

  @Test("Closing ends once whoever waits for an event's end knows it, not when the edge has it")
  func closing() throws {
    let server = SmallServer { request, _ in .result(taken: ToldBatch(request.body).ids.count, refused: [:]) }
    defer { server.stop() }
    let transport = try edgeTransport(server.address) { _ in }
    let isKnown = Monitor(false)
    let isTaken = transport.send(try sampleEvent(0, client: "client-1")) { _ in
      // Somebody slow.
      _ = Monitor(false).wait(timeoutMilliseconds: 300) { $0 }
      isKnown.update { $0 = true }
    }
    #expect(isTaken)
    #expect(transport.close(timeoutMilliseconds: 10_000))
    #expect(isKnown.withLock { $0 })
  }

  @Test(
    "A captive portal's page is no answer to a request: the failure says who answered, and the network is asked again")
  @MainActor
  func adsOfAPortal() async throws {
    let server = SmallServer { _, _ in .page(200) }
    defer { server.stop() }
    var options = AdClientOptions()
    options.storage = .none
    options.country = Country("DE")
    let client = try AdNetworkClient(app: sampleApp, key: "key", via: .edge(server.address), options: options)
    let banner = try Banner(client: client, placement: "home")
    var failure: AdFailure?
    for await event in banner.events {
      guard case .told(.didFail(let told)) = event else { continue }
      failure = told
      break
    }
    #expect(failure?.code == .serverFailure)
    #expect(failure?.detail.contains("\(server.address) is not the network's edge (status 200, text/html)") == true)
    #expect(failure?.retryAfterMilliseconds != nil)
    #expect(client.connection.problem?.kind == .notTheNetwork)
    banner.stop()
    await client.close(timeoutMilliseconds: 0)
  }

  @Test("No redirection is followed: what an app asks is for the edge alone", arguments: [301, 302, 303, 307, 308])
  func redirections(status: Int) async throws {
    let stranger = SmallServer { _, _ in .page(200) }
    defer { stranger.stop() }
    let place = stranger.address + "/v1/ads"
    let server = SmallServer { _, _ in .page(status, headers: ["Location: \(place)"]) }
    defer { server.stop() }
    let transport = try edgeTransport(server.address)
    defer { transport.close(timeoutMilliseconds: 0) }
    let request = try edgeRequest()
    let result = await withCheckedContinuation { continuation in
      transport.send(request, acknowledged: {}) { continuation.resume(returning: $0) }
    }
    guard case .unavailable(.serverFailure, let detail, _) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(detail.contains("sent on to \(place)"))
    #expect(stranger.requests.isEmpty && server.requests.count == 1)
  }

  @Test("Of a page without end no more is read than an edge ever says")
  func endless() async throws {
    let page = [UInt8](repeating: 32, count: 4 << 20)
    let server = SmallServer { _, _ in SmallServer.Reply(body: page, contentType: "text/html") }
    defer { server.stop() }
    let edge = try #require(EdgeConnection(server.address))
    let outcome = await withCheckedContinuation { continuation in
      edge.post("v1/ads", [], timeoutMilliseconds: 20_000) { continuation.resume(returning: $0) }
    }
    guard case .answer(let answer) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(answer.meaning == .foreign && answer.body.isEmpty)
  }

  @Test("Retry-After is kept, in seconds and as a date, within bounds")
  func retryAfter() {
    func pause(_ value: String, date: String? = nil) -> Int64? {
      EdgeAnswer(status: 503, body: []) { ["Retry-After": value, "Date": date][$0] ?? nil }.retryAfterMilliseconds
    }
    #expect(pause("7") == 7_000)
    #expect(pause("0") == 1_000)
    #expect(pause("-5") == 1_000)
    #expect(pause("99999999999999999") == 3_600_000)
    #expect(pause("soon") == nil)
    let date = "Wed, 21 Oct 2026 07:28:00 GMT"
    #expect(pause("Wed, 21 Oct 2026 07:28:30 GMT", date: date) == 30_000)
    #expect(pause("Wed, 21 Oct 2026 07:27:30 GMT", date: date) == 1_000)
    #expect(pause("Wed, 21 Oct 2099 07:28:30 GMT", date: date) == 3_600_000)
  }
}
