import AdBasics
import AdEvents
import Foundation
import LocalProcesses
import Synchronization
import Testing
import Threads

@testable import AdClient

@Suite("The way over the edge")
struct EdgeTransportTests {
  private func result(_ reply: SmallServer.Reply) async throws -> RequestResult {
    let server = SmallServer { _, _ in reply }
    defer { server.stop() }
    let transport = try edgeTransport(server.address)
    defer { transport.close(timeoutMilliseconds: 0) }
    let request = try edgeRequest()
    return await withCheckedContinuation { continuation in
      transport.send(request, acknowledged: {}) { continuation.resume(returning: $0) }
    }
  }

  @Test("A request is posted as it is, and its answer comes back with what an impression brings")
  func ad() async throws {
    let server = SmallServer { request, _ in
      let asked = request.body.withUnsafeBytes { try? AdRequest.read($0, headers: RecordHeaders()) }
      guard request.path == "/v1/ads", let asked, asked.deadlineMilliseconds == 3_000, let ad = AdID("an-ad") else {
        return SmallServer.Reply(status: 500)
      }
      let served = ServedAd(
        ad: ad, token: [1, 2], images: [], action: AdAction(kind: .cover, destination: "https://a.example"),
        lifetimeMilliseconds: 900_000, isTest: false, serveID: asked.requestID,
        revenue: Currency("EUR").map { ServedAd.Revenue(amount: Nanos(6_000_000), currency: $0) })
      return SmallServer.Reply(body: AdResponse(requestID: asked.requestID, outcome: .ad(served)).encoded())
    }
    defer { server.stop() }
    let transport = try edgeTransport(server.address)
    let request = try edgeRequest()
    let result = await withCheckedContinuation { continuation in
      transport.send(request, acknowledged: {}) { continuation.resume(returning: $0) }
    }
    guard case .ad(let ad) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(ad.revenue == AdRevenue(amount: Nanos(6_000_000), currency: Currency("EUR")))
    #expect(ad.requestID == request.requestID && ad.token == [1, 2])
    #expect(transport.connection == .connected)
    transport.close(timeoutMilliseconds: 100)
  }

  @Test("Each status means what the contract says")
  func statuses() async throws {
    #expect(
      try await result(.problem(403, "A1: the app key is unknown", number: 86))
        == .error(.configurationError, detail: "A1: the app key is unknown"))
    #expect(
      try await result(.problem(429, "too much", number: 193, retryAfter: "7"))
        == .unavailable(.loadingThrottled, detail: "too much", retryAfterMilliseconds: 7_000))
    #expect(
      try await result(.problem(503, "draining", number: 194, retryAfter: "2"))
        == .unavailable(.serverFailure, detail: "draining", retryAfterMilliseconds: 2_000))
    #expect(
      try await result(.problem(504, "none", number: 195))
        == .unavailable(.serverFailure, detail: "none", retryAfterMilliseconds: 0))
    #expect(try await result(.init(status: 200, body: [255, 255])) == .invalid)
  }

  @Test(
    "M1: a request whose answer was lost on the way is asked again under its id, and counts once; so does one without an answer"
  )
  func asksAgain() async throws {
    let server = SmallServer { request, number in
      let id = request.body.withUnsafeBytes { try? AdRequest.read($0, headers: RecordHeaders()) }?.requestID
      guard number > 3, let id else { return SmallServer.Reply(status: [0, 503, 502][number - 1]) }
      return SmallServer.Reply(
        body: AdResponse(requestID: id, outcome: .error(.inventoryUnavailable, detail: "")).encoded())
    }
    defer { server.stop() }
    let acknowledged = Atomic(0)
    func ask(_ transport: EdgeTransport) async throws -> RequestResult {
      let request = try edgeRequest()
      return await withCheckedContinuation { continuation in
        transport.send(request, acknowledged: { acknowledged.add(1, ordering: .relaxed) }) {
          continuation.resume(returning: $0)
        }
      }
    }
    let transport = try edgeTransport(server.address, deadlineMilliseconds: 30_000)
    #expect(try await ask(transport) == .error(.inventoryUnavailable))
    transport.close(timeoutMilliseconds: 0)
    let ids = server.requests.map { request in
      request.body.withUnsafeBytes { try? AdRequest.read($0, headers: RecordHeaders()) }?.requestID
    }
    #expect(ids.count == 4 && Set(ids).count == 1 && acknowledged.load(ordering: .relaxed) == 1)
    let late = SmallServer { _, _ in .problem(504, "nobody answered", number: 195) }
    defer { late.stop() }
    let other = try edgeTransport(late.address)
    #expect(
      try await ask(other)
        == .unavailable(.serverFailure, detail: "nobody answered", retryAfterMilliseconds: 0))
    #expect(acknowledged.load(ordering: .relaxed) == 2, "the network has it, and nobody answered in time")
    other.close(timeoutMilliseconds: 0)
  }

  @Test("A wrong address, a refused key and a busy edge are told apart")
  func connection() async throws {
    let server = SmallServer { _, number in
      number == 1 ? .problem(403, "A1: the app key is unknown", number: 86) : .problem(503, "busy", number: 194)
    }
    let transport = try edgeTransport(server.address)
    let request = try edgeRequest()
    func ask(_ transport: EdgeTransport) async {
      await withCheckedContinuation { continuation in
        transport.send(request, acknowledged: {}) { _ in continuation.resume() }
      }
    }
    #expect(transport.connection == .connecting)
    await ask(transport)
    #expect(transport.connection.problem?.kind == .unauthorized)
    await ask(transport)
    #expect(transport.connection.problem?.kind == .busy)
    server.stop()
    transport.close(timeoutMilliseconds: 0)
    let nobody = try edgeTransport("http://127.0.0.1:1")
    await ask(nobody)
    #expect(nobody.connection.problem?.kind == .unreachable)
    nobody.close(timeoutMilliseconds: 0)
    let nonsense = try edgeTransport("ads.example")
    #expect(nonsense.connection.problem?.kind == .other)
    nonsense.close(timeoutMilliseconds: 0)
  }

  @Test("Events arrive once, in order, in batches of one client, through refusals, 503 and 413")
  func events() throws {
    let cameAt = Mutex<[MonotonicTime]>([])
    let server = SmallServer { request, number in
      cameAt.withLock { $0.append(DeviceClock.monotonic) }
      if number == 1 { return .problem(503, "busy", number: 194, retryAfter: "2") }
      let count = ToldBatch(request.body).ids.count
      if count > 4 { return .problem(413, "too large", number: 66) }
      // The first event of each batch is refused: it is not sent again.
      return .result(taken: count - 1, refused: [0: "forged"])
    }
    defer { server.stop() }
    let refused = Atomic(0)
    let transport = try edgeTransport(server.address) {
      if $0.text.contains("forged") { refused.add(1, ordering: .relaxed) }
    }
    let events = try (0..<20).map { try sampleEvent(UInt8($0), client: $0 < 10 ? "client-1" : "client-2") }
    let ended = Monitor<[(id: UUIDv7, end: EventEnd)]>([])
    for event in events {
      let isTaken = transport.send(event) { end in ended.update { $0.append((event.id, end)) } }
      #expect(isTaken)
    }
    #expect(ended.wait(timeoutMilliseconds: 30_000) { $0.count == 20 })
    #expect(ended.withLock { $0.map(\.id) } == events.map(\.id))
    #expect(cameAt.withLock { $0[1].milliseconds(since: $0[0]) } >= 2_000, "it said when to come again")
    let taken = server.requests.dropFirst().map { ToldBatch($0.body) }.filter { $0.ids.count <= 4 }
    #expect(taken.flatMap(\.ids) == events.map(\.id.description))
    #expect(taken.allSatisfy { $0.appKey == "key" })
    let clients = Dictionary(uniqueKeysWithValues: events.map { ($0.id.description, $0.partitionKey) })
    for batch in taken { #expect(batch.ids.allSatisfy { clients[$0] == batch.clientKey }) }
    #expect(refused.load(ordering: .relaxed) == taken.count)
    #expect(ended.withLock { $0.count { $0.end == .refused } } == taken.count)
    #expect(transport.close(timeoutMilliseconds: 1_000))
  }

  @Test("Off line, ended twice, then on line: what happened is told once, in order")
  func offline() async throws {
    let folder = try TemporaryFolder()
    let server = SmallServer { request, _ in .result(taken: ToldBatch(request.body).ids.count) }
    defer { server.stop() }
    func client(_ address: String) throws -> AdNetworkClient {
      var options = AdClientOptions()
      options.storage = folder.storage
      options.country = Country("DE")
      return try AdNetworkClient(
        app: sampleApp, key: "key", via: .edge(address, batchMilliseconds: 1), options: options)
    }
    for life in 0..<2 {
      let client = try client("http://127.0.0.1:1")
      for number in 0..<10 {
        let report = AdReport(
          .viewed, .ad(try sampleAd(UInt8(life * 10 + number))), at: DeviceClock.monotonic)
        #expect(client.session.report(report, placement: try #require(PlacementID("home")), requestID: nil))
      }
      #expect(await !client.close(timeoutMilliseconds: 0))
      #expect(client.eventsWaiting == 10 * (life + 1))
    }
    let online = try client(server.address)
    #expect(await online.close(timeoutMilliseconds: 20_000))
    let ids = server.requests.flatMap { ToldBatch($0.body).ids }
    #expect(ids.count == 20 && Set(ids).count == 20)
    let times = ids.map { $0.prefix(13) }
    #expect(times == times.sorted(), "an id begins with its time")
  }
}
