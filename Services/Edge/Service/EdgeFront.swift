internal import AdCore
internal import AdEvents
internal import Crypto
internal import EdgeCore
internal import HTTP
internal import JSON
internal import Pictures
internal import Runtime
internal import Synchronization
internal import Threads

/// What of a request takes the network's keys. For one thread at a time.
private struct EdgeWriter {
  let mark: EdgeMark
  let networks: NetworkHasher

  /// What the edge saw, under its MAC.
  func mark(_ visitor: Visitor, _ seen: EdgeSight, _ asked: AskedAd, now: Timestamp) -> [UInt8] {
    var sight = seen
    sight.network = visitor.network(networks, now: now)
    return Array(asked.key.utf8).withUnsafeBytes { key in
      asked.value.withUnsafeBytes { mark.make(sight, key: key, value: $0, now: now) }
    }
  }
}

/// What the edge does with HTTP requests.
final class EdgeFront: Sendable {
  /// What it judges by.
  struct Rules: Sendable {
    var visitors = VisitorRules()
    var origins = AllowedOrigins()
  }

  /// What it answers from.
  struct Sources: Sendable {
    let exchange: EdgeExchange
    let keys: AppKeyBook
    let creatives: CreativeShelf
  }

  /// How long a client may keep an image: as good as for ever, a year.
  private static let creativeSeconds = 31_536_000

  private let exchange: EdgeExchange
  private let keys: AppKeyBook
  private let gate: EdgeGate
  private let rules: Rules
  private let creatives: CreativeShelf
  private let metrics: EdgeMetrics
  private let clock: any TimeSource
  private let writer: Mutex<EdgeWriter>
  private let isDraining = Mutex(false)

  init(
    sources: Sources, gate: EdgeGate, rules: Rules, ring: KeyRing, metrics: EdgeMetrics, clock: any TimeSource
  ) throws(CryptoError) {
    exchange = sources.exchange
    keys = sources.keys
    creatives = sources.creatives
    self.gate = gate
    self.rules = rules
    self.metrics = metrics
    self.clock = clock
    writer = Mutex(EdgeWriter(mark: try EdgeMark(ring: ring), networks: try NetworkHasher(ring: ring)))
  }

  /// What comes from now on is refused; what has begun goes on.
  func beginDraining() { isDraining.withLock { $0 = true } }

  var router: Router {
    var router = Router()
    router.onLater(.post, "/v1/ads") { [self] in handle(.ads, $0, $1, ask) }
    router.onLater(.post, "/v1/events") { [self] in handle(.events, $0, $1, tell) }
    router.get("/v1/creatives/:hash") { [self] request in creative(request) }
    for path in ["/v1/ads", "/v1/events"] {
      router.on(.options, path) { [self] request in preflight(request) }
    }
    return router
  }

  /// What is answered where nothing is refused.
  private enum Answer: Sendable {
    case made(HTTPResponse)
    /// Status 200, made of what the request was, by the thread that writes it.
    case toBeMade(@Sendable () -> HTTPResponse)

    var status: Int { if case .made(let response) = self { response.status } else { 200 } }
  }

  private typealias Finish = @Sendable (Result<Answer, EdgeRefusal>) -> Void

  private func handle(
    _ endpoint: Endpoint, _ request: HTTPRequest, _ reply: HTTPReply,
    _ body: (HTTPRequest, @escaping Finish) throws(EdgeRefusal) -> Void
  ) {
    let began = MonotonicClock.microseconds
    let headers = sharingHeaders(request)
    let finish: Finish = { [self] outcome in
      let answer: Answer
      switch outcome {
      case .success(let success): answer = success
      case .failure(let refusal):
        metrics.refused(refusal)
        answer = .made(HTTPResponse(refusal))
      }
      metrics.answered(endpoint, status: answer.status, microseconds: MonotonicClock.microseconds - began)
      switch answer {
      case .made(let response): reply.answer(response.adding(headers))
      case .toBeMade(let make): reply.answer(making: { make().adding(headers) })
      }
    }
    do throws(EdgeRefusal) {
      if isDraining.withLock({ $0 }) { throw .unavailable(detail: "this instance stops") }
      try body(request, finish)
    } catch { finish(.failure(error)) }
  }

  // MARK: POST /v1/ads

  private func ask(
    _ request: HTTPRequest, _ finish: @escaping Finish
  ) throws(EdgeRefusal) {
    let visitor = try admitted(request)
    let body = try unpacked(request, maximum: AskedAd.bodyBytesMaximum)
    let asked = try AskedAd.read(body, contentType: request.header("content-type") ?? "").get()
    let app = try app(ofKey: asked.request.appKey, named: asked.request.app, request)
    try admit(visitor, app: app, clientKey: asked.key)
    let seen = visitor.sight(header: { request.list($0) }, rules: rules.visitors)
    let now = clock.now
    let mark = writer.withLock { $0.mark(visitor, seen, asked, now: now) }
    try exchange.ask(asked, mark: mark) { outcome in
      finish(outcome.map { .made(.bytes($0.body, contentType: $0.contentType)) })
    }
  }

  // MARK: POST /v1/events

  private func tell(
    _ request: HTTPRequest, _ finish: @escaping Finish
  ) throws(EdgeRefusal) {
    let visitor = try admitted(request)
    let unread = try unread(request)
    // A stranger without a key has no event read.
    let app = try app(ofKey: unread.appKey, named: nil, request)
    let told = try unread.read { (count) throws(EdgeRefusal) in
      try admit(visitor, app: app, clientKey: unread.clientKey, cost: Rate.cost(ofEvents: count))
    }
    let events = told.events.compactMap { try? $0.get() }
    let result = told.result
    let (accepted, refused) = (result.acceptedCount, result.refused.count)
    guard !events.isEmpty else {
      metrics.events(accepted: accepted, refused: refused)
      return finish(.success(.made(response(result, isJSON: told.isJSON))))
    }
    // What is wrong with a hundred events is many times what was sent, and would be in memory for as long as Kafka
    // takes: while it waits nothing is kept but the request, whose bytes are counted. It is read again by the thread
    // that writes the answer: the producer's, which brings the word, has all others' words to bring.
    let whole = refused == 0 ? response(result, isJSON: told.isJSON) : nil
    try exchange.tell(events, clientKey: unread.clientKey) { [self] refusal in
      if let refusal { return finish(.failure(refusal)) }
      metrics.events(accepted: accepted, refused: refused)
      finish(.success(whole.map(Answer.made) ?? .toBeMade { [self] in readAgain(request) }))
    }
  }

  private func unread(_ request: HTTPRequest) throws(EdgeRefusal) -> UnreadEvents {
    try UnreadEvents(try unpacked(request, maximum: ToldEvents.bodyBytesMaximum)) { request.header($0) }
  }

  /// What became of a batch that was read before, and whose events the network has.
  private func readAgain(_ request: HTTPRequest) -> HTTPResponse {
    do throws(EdgeRefusal) {
      let told = try unread(request).read { _ in }
      return response(told.result, isJSON: told.isJSON)
    } catch { return HTTPResponse(error) }
  }

  private func response(_ result: EventBatchResult, isJSON: Bool) -> HTTPResponse {
    isJSON ? .json(result.json) : .bytes(result.encoded(), contentType: "application/protobuf")
  }

  // MARK: GET /v1/creatives/HASH

  /// Its name says what it is, so that it may be kept for ever, and shown by any page.
  private func creative(_ request: HTTPRequest) -> HTTPResponse {
    let began = MonotonicClock.microseconds
    var response: HTTPResponse
    do throws(EdgeRefusal) {
      _ = try admitted(request)
      response = try found(request.parameters["hash"] ?? "", unless: request.header("if-none-match"))
    } catch {
      metrics.refused(error)
      response = HTTPResponse(error)
    }
    response.headers += [("Access-Control-Allow-Origin", "*"), ("Cross-Origin-Resource-Policy", "cross-origin")]
    metrics.answered(.creatives, status: response.status, microseconds: MonotonicClock.microseconds - began)
    return response
  }

  private func found(_ name: String, unless known: String?) throws(EdgeRefusal) -> HTTPResponse {
    switch creatives.find(name) {
    case .unknown: throw .unknownCreative
    case .unsound: throw .unsoundCreative
    case .crowded: throw .unavailable(detail: "too many images are on their way")
    case .found(let creative):
      let tag = "\"\(name)\""
      let isKnown = known.map { $0 == "*" || $0.contains(tag) } ?? false
      var response = HTTPResponse(status: isKnown ? 304 : 200)
      response.headers = [
        ("Cache-Control", "public, max-age=\(Self.creativeSeconds), immutable"), ("ETag", tag),
      ]
      if !isKnown {
        response.headers.append(("Content-Type", creative.format.rawValue))
        response.sharedBody = creative.bytes
      }
      return response
    }
  }

  // MARK: What both check

  private func admitted(_ request: HTTPRequest) throws(EdgeRefusal) -> Visitor {
    let visitor = Visitor(peer: request.clientAddress, header: { request.list($0) }, rules: rules.visitors)
    try gate.admit(visitor.address)
    return visitor
  }

  /// Whose key it is (A1), where the page that asks may speak for that app.
  private func app(ofKey key: String, named app: AppID?, _ request: HTTPRequest) throws(EdgeRefusal) -> AppID {
    let app = try keys.app(ofKey: key, named: app)
    if let origin = request.header("origin"), !rules.origins.allows(origin, app: app) { throw .originRefused }
    return app
  }

  /// - Parameter cost: in requests, of which the address has paid one.
  private func admit(_ visitor: Visitor, app: AppID, clientKey: String, cost: Int = 1) throws(EdgeRefusal) {
    // A client beyond his own allowance takes nothing of what he shares with others.
    try gate.admit(clientKey: clientKey, of: app, cost: cost)
    try gate.admit(visitor.address, further: cost - 1)
    try gate.admit(app, of: cost)
  }

  private func unpacked(_ request: HTTPRequest, maximum: Int) throws(EdgeRefusal) -> [UInt8] {
    switch (request.header("content-encoding") ?? "identity").lowercased() {
    case "identity":
      guard request.body.count <= maximum else { throw .tooLarge(bytesMaximum: maximum) }
      return request.body
    case "gzip":
      do throws(Gzip.Mistake) { return try Gzip.expand(request.body, maximum: maximum) } catch {
        switch error {
        case .tooLarge: throw .tooLarge(bytesMaximum: maximum)
        case .malformed: throw .rejected(Rejection(.malformed, "the body is not whole gzip"))
        }
      }
    default: throw .unknownContent(detail: "content-encoding is neither gzip nor identity")
    }
  }

  // MARK: Browsers

  /// That a page of a known origin may read the answer.
  private func sharingHeaders(_ request: HTTPRequest) -> [(name: String, value: String)] {
    guard let origin = request.header("origin"), rules.origins.isKnown(origin) else { return [] }
    return [
      ("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", "Retry-After"), ("Vary", "Origin"),
    ]
  }

  private func preflight(_ request: HTTPRequest) -> HTTPResponse {
    let sharing = sharingHeaders(request)
    var response = sharing.isEmpty ? HTTPResponse(.originRefused) : HTTPResponse(status: 204)
    response.headers += sharing
    if !sharing.isEmpty {
      response.headers += [
        ("Access-Control-Allow-Methods", "POST"),
        (
          "Access-Control-Allow-Headers",
          "Content-Type, Content-Encoding, Handbill-App-Key, Handbill-Client-Key, ce-id, ce-type, ce-source, "
            + "ce-specversion, ce-time"
        ), ("Access-Control-Max-Age", "600"),
      ]
    }
    metrics.answered(.preflight, status: response.status, microseconds: 0)
    return response
  }
}

extension HTTPResponse {
  fileprivate func adding(_ headers: [(name: String, value: String)]) -> HTTPResponse {
    var response = self
    response.headers += headers
    return response
  }

  /// A refusal as RFC 9457 has it, with its number and its word.
  init(_ refusal: EdgeRefusal) {
    self = .problem(refusal.status, refusal.detail, number: refusal.number, reason: refusal.word)
    if let seconds = refusal.retryAfterSeconds { headers.append(("Retry-After", "\(seconds)")) }
  }
}
