import AdCore
import AdEvents
import BrokerFaults
import HTTP
import JSON
import Kafka
import Pipeline
import Records
import Runtime
import TestValues
import Testing
import Threads

@testable import Edge
@testable import EdgeCore

@Suite("The edge, with a broker", .serialized)
struct EdgeServiceTests {
  private static let protobuf = [(name: "Content-Type", value: "application/protobuf")]
  private static let json = [(name: "Content-Type", value: "application/json")]

  private func request(_ number: UInt64 = 1, change: (inout AdRequest) -> Void = { _ in }) -> [UInt8] {
    AdRequest.sample(number) {
      $0.deadlineMilliseconds = 30_000
      change(&$0)
    }.encoded()
  }

  private func post(
    _ edge: RunningEdge, _ path: String, _ body: [UInt8], _ headers: [(name: String, value: String)] = protobuf
  ) -> Asked {
    let base = edge.base
    return Asked { try HTTPClient.send("POST", base + path, headers: headers, body: body, timeoutMilliseconds: 60_000) }
  }

  /// What a problem says of itself.
  private func number(_ response: HTTPResponse?) throws -> Int16? {
    guard let response, case .object(let members) = try JSONValue.parse(response.body),
      case .number(let number)? = members.first(where: { $0.name == "number" })?.value
    else { return nil }
    return Int16(number)
  }

  private func header(_ name: String, _ response: HTTPResponse?) -> String? {
    response?.headers.first { $0.name == name }?.value
  }

  @Test(
    "requests are written as a client writes them, under the edge's mark, and each gets its own answer, in its form")
  func ads() throws {
    let began = SystemClock().now
    let edge = try RunningEdge()
    try edge.publishCatalog()
    let asked = (0..<20).map { post(edge, "/v1/ads", request(UInt64($0))) }
    #expect(edge.wait { edge.written(.requests).count == 20 })
    for each in edge.written(.requests).reversed() {
      let key = String(decoding: each.key ?? [], as: UTF8.self)
      #expect(each.partition == KafkaPartition.of(key: key, count: RunningEdge.partitionCount))
      try edge.answer(each, .error(.inventoryUnavailable, detail: "none for \(key)"))
    }
    for (index, each) in asked.enumerated() {
      let response = each.response
      #expect(response?.status == 200 && header("content-type", response) == "application/protobuf")
      let told = String(decoding: response?.body ?? [], as: UTF8.self)
      #expect(told.contains("none for client-\(index)"))
    }
    let text = try AdRequest.sample(99).json().get().compactText
    let inJSON = post(edge, "/v1/ads", Array(text.utf8), Self.json)
    #expect(edge.wait { edge.written(.requests).count == 21 })
    try edge.answer(edge.written(.requests)[20], .error(.inventoryUnavailable, detail: "none"))
    #expect(header("content-type", inJSON.response) == "application/json")
    // What the edge marks, ad selection believes.
    let mark = try EdgeMark(ring: RunningEdge.ring)
    let hasher = try NetworkHasher(ring: RunningEdge.ring)
    let loopback = try #require(NetworkAddress("127.0.0.0/24"))
    // Midnight may have passed.
    let networks = [began, SystemClock().now].map {
      hasher.hash(bits: loopback.bits, prefixLength: loopback.prefixLength, now: $0)
    }
    for each in edge.written(.requests) {
      var headers = RecordHeaders()
      for header in each.headers { headers.add(header) }
      #expect(headers.replyTopic == Topic.edgeResponses)
      let sight = headers.edgeMark.withUnsafeBytes { text in
        (each.key ?? []).withUnsafeBytes { key in
          (each.value ?? []).withUnsafeBytes { mark.sight(text, key: key, value: $0, now: .sample) }
        }
      }
      #expect(
        networks.contains { network in
          sight
            == EdgeSight(country: nil, agent: .unknown, isDataCentre: false, isKnownBot: false, network: network)
        }, "\(String(describing: sight))")
    }
    #expect(edge.stop())
  }

  @Test("a request that nobody answers gets 504 at its deadline, and an answer after it goes nowhere")
  func deadline() throws {
    let edge = try RunningEdge()
    try edge.publishCatalog()
    let began = MonotonicClock.milliseconds
    let asked = post(edge, "/v1/ads", request { $0.deadlineMilliseconds = 700 })
    let response = asked.response
    let lasted = MonotonicClock.milliseconds - began
    #expect(response?.status == 504)
    #expect(try number(response) == EdgeReason.noAnswer.number)
    #expect((650..<10_000).contains(lasted), "it lasted \(lasted) ms")
    #expect(edge.wait { edge.written(.requests).count == 1 })
    try edge.answer(edge.written(.requests)[0], .error(.inventoryUnavailable, detail: "late"))
    #expect(edge.wait { edge.metrics.counter(EdgeMetrics.answersDropped).value == 1 })
    #expect(edge.stop())
  }

  @Test("an answer to another instance's request goes to nobody here, though both count alike")
  func othersAnswers() throws {
    let edge = try RunningEdge()
    try edge.publishCatalog()
    let asked = post(edge, "/v1/ads", request())
    #expect(edge.wait { edge.written(.requests).count == 1 })
    let written = edge.written(.requests)[0]
    let own = try #require(written.headers.first { $0.name == Array("kafka_correlationId".utf8) }?.text)
    let number = try #require(own.split(separator: "-").last)
    let others = ["another-\(number)", "\(number)", "-\(number)", "\(own)-\(number)", "\(own)x", ""]
    for other in others {
      try edge.answer(written, .error(.inventoryUnavailable, detail: "for others"), correlationID: other)
    }
    #expect(edge.wait { edge.metrics.counter(EdgeMetrics.answersDropped).value == UInt64(others.count) })
    try edge.answer(written, .error(.inventoryUnavailable, detail: "its own"))
    let said = String(decoding: asked.response?.body ?? [], as: UTF8.self)
    #expect(said.contains("its own") && !said.contains("for others"))
    #expect(edge.stop())
  }

  @Test("events are told as taken once the broker has them, in their order; those that are none, by number")
  func events() throws {
    let edge = try RunningEdge()
    try edge.publishCatalog()
    let response = post(edge, "/v1/events", RunningEdge.batch((0..<99).map { "event-\($0)" } + [""])).response
    #expect(response?.status == 200)
    #expect(response?.body.prefix(2) == [8, 99])
    #expect(edge.wait { edge.written(.impressions).count == 99 })
    let ids = edge.written(.impressions).map { $0.headers.first { $0.name == Array("ce_id".utf8) }?.text }
    #expect(ids == (0..<99).map { "event-\($0)" })
    #expect(Set(edge.written(.impressions).map { String(decoding: $0.key ?? [], as: UTF8.self) }) == ["client-1"])
    let none = post(edge, "/v1/events", RunningEdge.batch([""])).response
    #expect(none?.status == 200 && none?.body.first == 18)
    let text =
      #"{"appKey":"live","clientKey":"c","events":[{"id":"x","click":{"kind":"KIND_CLICK","token":"AQID"}}, {}]}"#
    let inJSON = post(edge, "/v1/events", Array(text.utf8), Self.json).response
    let said = String(decoding: inJSON?.body ?? [], as: UTF8.self)
    #expect(said.contains("\"acceptedCount\": 1"))
    #expect(edge.wait { edge.written(.clicks).count == 1 })
    func events(_ outcome: String) -> UInt64 {
      edge.metrics.counter(EdgeMetrics.events, ["outcome": outcome]).value
    }
    #expect(events("accepted") == 100 && events("refused") == 3)
    let answered = edge.metrics.counter(EdgeMetrics.requests, ["endpoint": "events", "status": "200"]).value
    #expect(answered == 3)
    #expect(edge.stop())
  }

  @Test("a batch of which the brokers take one event and refuse another is to be told again, and is taken then")
  func halfTaken() throws {
    let edge = try RunningEdge(["HANDBILL_EDGE_CLIENT_RATE": "0"])
    try edge.publishCatalog()
    #expect(post(edge, "/v1/events", RunningEdge.batch(["before"])).response?.status == 200)
    let both = Array(
      """
      {"appKey":"live","clientKey":"c","events":[
        {"id":"view","impression":{"kind":"KIND_VIEWED","token":"AQID","ageMilliseconds":"1000"}},
        {"id":"tap","click":{"kind":"KIND_CLICK","token":"AQID"}}]}
      """.utf8)
    edge.broker.pushFaults([.none, .messageTooLarge])
    #expect(post(edge, "/v1/events", both, Self.json).response?.status == 503)
    var isTaken = false
    #expect(
      edge.wait {
        isTaken = isTaken || post(edge, "/v1/events", both, Self.json).response?.status == 200
        return isTaken && !edge.written(.clicks).isEmpty
      })
    #expect(edge.stop())
  }

  @Test("A1: without its app's key nothing is taken; what is too large, packed otherwise or no message neither")
  func refused() throws {
    let edge = try RunningEdge()
    #expect(post(edge, "/v1/events", RunningEdge.batch(["a"])).response?.status == 503)
    try edge.publishCatalog()
    let other = known(AppID("chess"))
    let zipped = [(name: "Content-Encoding", value: "gzip")] + Self.protobuf
    func cloudEvents(_ key: String) -> [(name: String, value: String)] {
      [
        (name: "Content-Type", value: "application/cloudevents-batch+json"), (name: "Handbill-App-Key", value: key),
        (name: "Handbill-Client-Key", value: "client-1"),
      ]
    }
    let cases: [(path: String, body: [UInt8], headers: [(name: String, value: String)], status: Int, number: Int16)] = [
      ("/v1/ads", request { $0.appKey = "none" }, Self.protobuf, 403, 86),
      ("/v1/ads", request { $0.app = other }, Self.protobuf, 403, 86),
      ("/v1/events", RunningEdge.batch(["a"], key: "none"), Self.protobuf, 403, 86),
      // Nothing of it is read: it is not even a list.
      ("/v1/events", Array("[".utf8), cloudEvents("none"), 403, 86),
      ("/v1/events", Array("[".utf8), cloudEvents("live"), 400, 68),
      (
        "/v1/events", Array("[".utf8), cloudEvents("live") + [(name: "Origin", value: "https://evil.example")], 403,
        EdgeReason.originRefused.number
      ),
      ("/v1/ads", [UInt8](repeating: 1, count: 16_385), Self.protobuf, 413, 66),
      ("/v1/ads", [0xFF], Self.protobuf, 400, 68), ("/v1/events", [0xFF], Self.protobuf, 400, 68),
      ("/v1/ads", request(), [(name: "Content-Type", value: "text/html")], 415, 67),
      ("/v1/ads", request(), Self.protobuf + [(name: "Content-Encoding", value: "br")], 415, 67),
      ("/v1/ads", request(), zipped, 400, 68),
      (
        "/v1/events", RunningEdge.batch(["a"]), Self.protobuf + [(name: "Origin", value: "https://evil.example")], 403,
        EdgeReason.originRefused.number
      ),
    ]
    for each in cases {
      let response = post(edge, each.path, each.body, each.headers).response
      #expect(response?.status == each.status, "\(each.path) \(each.number)")
      #expect(try number(response) == each.number)
      #expect(header("content-type", response) == "application/problem+json")
    }
    let huge = post(edge, "/v1/events", [UInt8](repeating: 1, count: 262_145)).response
    #expect(huge?.status == 413)
    #expect(try HTTPClient.get(edge.base + "/v1/ads").status == 405)
    #expect(edge.written.isEmpty)
    #expect(edge.stop())
  }

  @Test("while the broker is away 503 says so, soon and within bounds; nothing that was taken is lost")
  func brokerAway() throws {
    let edge = try RunningEdge(["HANDBILL_EDGE_DELIVERY_TIMEOUT": "1s", "HANDBILL_EDGE_CLIENT_RATE": "0"])
    try edge.publishCatalog()
    #expect(post(edge, "/v1/events", RunningEdge.batch(["before"])).response?.status == 200)
    edge.broker.setBroker(1, isUp: false)
    var taken: Set = ["before"]
    var refusals = 0
    // At first the broker's word is waited for; once it is known to be away nobody waits.
    for number in 0..<8 {
      let response = post(edge, "/v1/events", RunningEdge.batch(["away-\(number)"])).response
      if response?.status == 200 { taken.insert("away-\(number)") }
      guard response?.status == 503 else { continue }
      refusals += 1
      #expect(try self.number(response) == EdgeReason.unavailable.number)
      #expect(header("retry-after", response) == "2")
    }
    #expect(refusals == 8)
    let began = MonotonicClock.milliseconds
    #expect(post(edge, "/v1/ads", request()).response?.status == 503)
    #expect(MonotonicClock.milliseconds - began < 900)
    edge.broker.setBroker(1, isUp: true)
    var isBack = false
    _ = edge.wait {
      isBack = isBack || post(edge, "/v1/events", RunningEdge.batch(["after"])).response?.status == 200
      return isBack
    }
    #expect(isBack)
    taken.insert("after")
    #expect(edge.wait { taken.isSubset(of: Set(edge.ids)) })
    #expect(edge.stop())
  }

  @Test("what comes too fast of one client gets 429 and when to come again, and nobody else does")
  func rates() throws {
    let edge = try RunningEdge(["HANDBILL_EDGE_CLIENT_RATE": "1"])
    try edge.publishCatalog()
    let responses = (0..<30).map { post(edge, "/v1/events", RunningEdge.batch(["a-\($0)"])).response }
    #expect(responses.prefix(10).allSatisfy { $0?.status == 200 })
    let over = responses.first { $0?.status == 429 } ?? nil
    #expect(over != nil)
    #expect(try number(over) == EdgeReason.rateExceeded.number)
    #expect(header("retry-after", over).flatMap(Int.init).map { $0 >= 1 } == true)
    #expect(post(edge, "/v1/events", RunningEdge.batch(["b"], client: "client-2")).response?.status == 200)
    #expect(edge.stop())
  }

  @Test("a browser asks first, and reads answers only from pages that the app allows")
  func origins() throws {
    let edge = try RunningEdge(["HANDBILL_EDGE_ORIGINS": "weather=https://weather.example, chess=https://chess.example"]
    )
    try edge.publishCatalog()
    let page = [(name: "Origin", value: "https://weather.example")]
    let preflight = try HTTPClient.send("OPTIONS", edge.base + "/v1/events", headers: page)
    #expect(preflight.status == 204)
    #expect(header("access-control-allow-origin", preflight) == "https://weather.example")
    let allowed = header("access-control-allow-headers", preflight) ?? ""
    #expect(allowed.contains("Content-Type"))
    let stranger = [(name: "Origin", value: "https://evil.example")]
    let refused = try HTTPClient.send("OPTIONS", edge.base + "/v1/events", headers: stranger)
    #expect(refused.status == 403 && header("access-control-allow-origin", refused) == nil)
    let taken = post(edge, "/v1/events", RunningEdge.batch(["a"]), Self.protobuf + page).response
    #expect(taken?.status == 200 && header("access-control-allow-origin", taken) == "https://weather.example")
    // Known, and another app's.
    let chess = post(
      edge, "/v1/events", RunningEdge.batch(["a"]), Self.protobuf + [(name: "Origin", value: "https://chess.example")])
    #expect(try number(chess.response) == EdgeReason.originRefused.number)
    #expect(edge.stop())
  }

  @Test("a stop lets what waits end, refuses what comes, and loses nothing")
  func finishing() throws {
    let edge = try RunningEdge()
    try edge.publishCatalog()
    let asked = post(edge, "/v1/ads", request())
    #expect(edge.wait { edge.written(.requests).count == 1 })
    let waiting = edge.written(.requests)[0]
    let ended = Monitor(false)
    let stopping = StopRequest()
    let lifeCycle = edge.lifeCycle
    _ = OwnerThread("stops") {
      stopping.make()
      let isOrderly = lifeCycle.stopAll(timeoutMilliseconds: 30_000)
      ended.update { $0 = isOrderly }
    }
    stopping.wait()
    try edge.answer(waiting, .error(.inventoryUnavailable, detail: "none"))
    #expect(asked.response?.status == 200)
    #expect(ended.wait(timeoutMilliseconds: 30_000) { $0 })
    #expect(throws: HTTPClientError.self) { try HTTPClient.get(edge.base + "/v1/ads", timeoutMilliseconds: 500) }
  }
}
