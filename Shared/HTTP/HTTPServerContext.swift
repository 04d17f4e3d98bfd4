internal import Foundation
internal import Synchronization
internal import Threads

/// What the library's callbacks need: the routes, the limits, and a count of requests that have begun.
final class HTTPServerContext: Sendable {
  let router: Router
  let limits: HTTPLimits
  private let onFailure: @Sendable (HTTPFailure) -> Void
  /// How many requests run.
  private let running = Monitor(0)
  let connections: OpenConnections
  /// Replies that are awaited, each on a connection that is suspended or soon will be; nil when none may be any more.
  private let waiting = Mutex<[ObjectIdentifier: PendingReply]?>([:])

  init(router: Router, limits: HTTPLimits, onFailure: @escaping @Sendable (HTTPFailure) -> Void) {
    self.router = router
    self.limits = limits
    self.onFailure = onFailure
    connections = OpenConnections(
      bodyBytesMaximum: limits.bodyBytesInAllMaximum, answerBytesMaximum: limits.answerBytesInAllMaximum,
      householdMaximum: limits.connectionsOfAddressMaximum)
  }

  func requestBegan() { running.withLock { $0 += 1 } }
  func requestEnded() { running.update { $0 -= 1 } }

  /// Waits until no request runs.
  func waitForRequests(milliseconds: Int) { _ = running.wait(timeoutMilliseconds: max(0, milliseconds)) { $0 == 0 } }

  /// Before its connection is suspended: at the end it is answered at once, so that none is.
  func remember(_ pending: PendingReply) {
    let isTaken = waiting.withLock { waiting in
      waiting?[ObjectIdentifier(pending)] = pending
      return waiting != nil
    }
    if !isTaken { pending.answer(Self.stops) }
  }

  func forget(_ pending: PendingReply) { _ = waiting.withLock { $0?.removeValue(forKey: ObjectIdentifier(pending)) } }

  /// Answers what still waits, and what comes from now on: no connection stays suspended.
  func abandonWaiting() {
    let left = waiting.withLock { waiting in
      defer { waiting = nil }
      return waiting.map { Array($0.values) } ?? []
    }
    for pending in left { pending.answer(Self.stops) }
  }

  private static let stops = HTTPResponse.problem(503, "the server stops")

  /// What a handler gives: its answer, or the place where it will be.
  enum Answer {
    case now(HTTPResponse)
    case later(PendingReply)
  }

  /// The answer to a complete request. It never throws: each failure has its status.
  ///
  /// - Parameter connection: the address of the library's handle.
  func answer(_ incoming: PartialRequest, on connection: UInt) -> Answer {
    switch handler(for: incoming) {
    case .response(let response): return .now(bounded(response, on: connection))
    case .handler(.now(let handler), let request): return .now(bounded(run(handler, request), on: connection))
    case .handler(.later(let handler), let request):
      let pending = PendingReply { [self] in bounded($0, on: connection) }
      handler(request, HTTPReply(pending))
      return .later(pending)
    }
  }

  /// The answer, where there is memory for it while it is on its way.
  private func bounded(_ response: HTTPResponse, on connection: UInt) -> HTTPResponse {
    let bytes = response.sharedBody == nil ? response.body.count : 0
    return connections.takeAnswer(connection, bytes: bytes) ? response : Self.crowded
  }

  /// Takes no memory itself, and no place of those who read.
  private static let crowded = HTTPResponse(status: 503, headers: [("Connection", "close"), ("Retry-After", "2")])

  private enum Found {
    case response(HTTPResponse)
    case handler(Router.Handler, HTTPRequest)

    static func problem(_ status: Int, _ detail: String) -> Found { .response(.problem(status, detail)) }
  }

  private func handler(for incoming: PartialRequest) -> Found {
    if incoming.isAmbiguous {
      return .problem(
        400, "it is not said once, by Content-Length or by chunks, how long the body is, or a header is broken")
    }
    if incoming.isTooLarge { return .problem(413, "a body has at most \(limits.bodyBytesMaximum) bytes") }
    let rawSegments = Router.split(incoming.rawPath)
    let segments = rawSegments.prefix(Router.segmentsMaximum + 1).compactMap { PercentEncoding.decode($0) }
    guard segments.count == rawSegments.count, segments.count <= Router.segmentsMaximum,
      incoming.rawPath.hasPrefix("/"), let query = incoming.decodedQuery, !incoming.isBeyondLimits
    else { return .problem(400, "the path, the query or a header is not well formed, or too long") }
    let method = HTTPMethod(rawValue: incoming.method == "HEAD" ? "GET" : incoming.method)
    switch router.match(method, segments) {
    case .notFound: return .problem(404, "there is nothing at this path")
    case .wrongMethod(let allowed):
      var response = HTTPResponse.problem(405, "allowed here: \(allowed.joined(separator: ", "))")
      response.headers.append(("Allow", allowed.joined(separator: ", ")))
      return .response(response)
    case .found(let handler, let parameters):
      let request = HTTPRequest(
        method: method ?? .get, path: "/" + segments.joined(separator: "/"), query: query, headers: incoming.headers,
        body: incoming.body, parameters: parameters, clientAddress: incoming.clientAddress)
      do throws(HTTPProblem) { try router.admission(request) } catch { return .problem(error.status, error.detail) }
      return .handler(handler, request)
    }
  }

  private func run(_ handler: HTTPHandler, _ request: HTTPRequest) -> HTTPResponse {
    do {
      return try handler(request)
    } catch let problem as HTTPProblem {
      return .problem(problem.status, problem.detail)
    } catch {
      return failed(request.method.rawValue, request.path, "\(error)")
    }
  }

  /// Tells the log, and whoever asked only an id.
  func failed(_ method: String, _ path: String, _ reason: String) -> HTTPResponse {
    let id = UUID().uuidString.lowercased()
    onFailure(HTTPFailure(id: id, method: method, path: path, reason: reason))
    return .problem(500, "this is our fault; the log has it under \(id)")
  }
}

/// A request on its way in. The library calls for one request from one thread at a time.
final class PartialRequest {
  /// How far beyond the limit a body without a length is read, so that its sender can still read the answer.
  private static let discardFactor = 4

  let method: String
  let rawPath: String
  var rawQuery: [(name: String, value: String)] = []
  var headers: [(name: String, value: String)] = []
  /// Path, query or headers are more than is read, or would take long to compare.
  var isBeyondLimits = false
  var clientAddress = ""
  var isAnswered = false
  /// Where the answer will be, of a request that is answered later.
  var pending: PendingReply?
  private(set) var body: [UInt8] = []
  private(set) var isTooLarge = false
  /// A proxy before us could take what is sent for other requests than we do.
  private(set) var isAmbiguous = false
  private var received = 0
  private let bodyBytesMaximum: Int

  init(method: String, rawPath: String, bodyBytesMaximum: Int) {
    self.method = method
    self.rawPath = rawPath
    self.bodyBytesMaximum = bodyBytesMaximum
  }

  /// Nil when an escape is wrong.
  var decodedQuery: [(name: String, value: String)]? {
    var decoded: [(name: String, value: String)] = []
    for (name, value) in rawQuery {
      guard let name = PercentEncoding.decode(name), let value = PercentEncoding.decode(value) else { return nil }
      decoded.append((name, value))
    }
    return decoded
  }

  /// To be answered before its body, and to be the last on its connection: where it ends is not certain, or beyond what is
  /// read.
  var isToBeCutOff: Bool { isTooLarge || isAmbiguous || isBeyondLimits }

  /// Looks at what the headers say of the body. RFC 9112 lets a server refuse what its clients never send: two lengths, a
  /// length beside chunks, any other coding, and names that only some would take for a header's.
  func judgeFraming() {
    let lengths = headers.filter { $0.name == "content-length" }
    let codings = headers.filter { $0.name == "transfer-encoding" }
    let isKnown = codings.allSatisfy { $0.value.lowercased() == "chunked" }
    isAmbiguous =
      lengths.count + codings.count > 1 || !isKnown || !headers.allSatisfy { Self.isToken($0.name) }
      || headers.contains { $0.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 } }
    if let length = lengths.first { promised(length.value) }
  }

  private static func isToken(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { $0 > 32 && $0 < 127 && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
  }

  /// The length that the headers promise. What cannot be read as a number is left to the library, which refuses it.
  private func promised(_ length: String) {
    if let length = UInt64(length), length > UInt64(bodyBytesMaximum) { isTooLarge = true }
  }

  /// Nobody needs it any more, however long the answer is on its way.
  func forgetBody() { body = [] }

  /// Adds a piece of the body.
  ///
  /// - Returns: false when the sender goes on for so long that the connection is to be closed.
  func append(_ piece: UnsafeRawBufferPointer) -> Bool {
    received += piece.count
    guard received <= bodyBytesMaximum else {
      isTooLarge = true
      body = []
      return received <= bodyBytesMaximum * PartialRequest.discardFactor
    }
    unsafe body.append(contentsOf: piece)
    return true
  }
}
