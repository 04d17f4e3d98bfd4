internal import AdBasics
internal import AdEvents
internal import Threads

extension AdTransport {
  /// Through the network's edge, for devices.
  ///
  /// - Parameter address: Its `http` or `https` address, such as `https://ads.example`.
  public static func edge(_ address: String) -> AdTransport { edge(address, batchMilliseconds: 1_000) }

  /// - Parameter batchMilliseconds: How long an event waits for others, so that the device's radio can sleep.
  package static func edge(_ address: String, batchMilliseconds: Int64) -> AdTransport {
    AdTransport { EdgeTransport(address, context: $0, batchMilliseconds: batchMilliseconds) }
  }
}

/// The way to the network over HTTP: a request at once, events in batches, one after the other, each until the edge has
/// it, on a thread of their own.
final class EdgeTransport: NetworkTransport {
  private struct Waiting: Sendable {
    let event: OutgoingEvent
    let acknowledged: @Sendable () -> Void
    let since: MonotonicTime
  }

  private struct State {
    var events: [Waiting] = []
    var requestCount = 0
    var connection = AdConnectionState.connecting
    /// Nothing waits for company any more.
    var isHurried = false
    /// Until when events are sent; nil while nobody has closed the transport.
    var end: MonotonicTime?
  }

  /// The most events that wait at once; whoever keeps more keeps them on disk.
  private static let eventsMaximum = 1_000
  /// The most requests that wait for answers at once.
  private static let requestsMaximum = 1_000
  /// How long an answer may take on the way, in milliseconds, beyond the request's own deadline.
  private static let wayMilliseconds: Int64 = 2_000
  private static let batchTimeoutMilliseconds: Int64 = 30_000
  /// How long the thread has for its own end.
  private static let endMilliseconds = 2_000

  private let edge: EdgeConnection?
  private let address: String
  private let context: AdTransport.Context
  private let batchMilliseconds: Int64
  private let state = Monitor(State())
  private let thread: OwnerThread

  init(_ address: String, context: AdTransport.Context, batchMilliseconds: Int64) {
    self.address = address
    self.context = context
    self.batchMilliseconds = batchMilliseconds
    edge = EdgeConnection(address)
    let work = Mailbox<@Sendable () -> Void>()
    // The thread needs what is not made yet.
    thread = OwnerThread("handbill-edge") { work.takeAll(timeoutMilliseconds: 60_000).first?() }
    work.put { [self] in sendEvents() }
    if edge == nil { note(.other, "“\(address)” is no address of http or https") }
  }

  var connection: AdConnectionState { state.withLock { $0.connection } }

  func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void
  ) {
    let isTaken = state.withLock { state in
      guard state.end == nil, state.requestCount < Self.requestsMaximum else { return false }
      state.requestCount += 1
      return true
    }
    guard isTaken, let edge else { return completion(.noAnswer) }
    var request = request
    request.deadlineMilliseconds = context.deadlineMilliseconds
    let timeout = context.deadlineMilliseconds + Self.wayMilliseconds
    edge.post("v1/ads", request.encoded(), timeoutMilliseconds: timeout) { [self, id = request.requestID] outcome in
      state.update { $0.requestCount -= 1 }
      note(outcome)
      if case .answer(status: 200, _, _) = outcome { acknowledged() }
      completion(Self.result(outcome, to: id, edge: address))
    }
  }

  func send(_ event: OutgoingEvent, acknowledged: @escaping @Sendable () -> Void) -> Bool {
    state.update { state in
      guard state.end == nil, state.events.count < Self.eventsMaximum else { return false }
      state.events.append(Waiting(event: event, acknowledged: acknowledged, since: DeviceClock.monotonic))
      return true
    }
  }

  func flush() { state.update { $0.isHurried = true } }

  @discardableResult
  func close(timeoutMilliseconds: Int) -> Bool {
    let end = DeviceClock.monotonic.advanced(byMilliseconds: Int64(timeoutMilliseconds))
    state.update { state in
      state.end = state.end ?? end
      state.isHurried = true
    }
    _ = state.wait(timeoutMilliseconds: timeoutMilliseconds) { $0.events.isEmpty }
    edge?.cancel()
    _ = thread.join(timeoutMilliseconds: Self.endMilliseconds)
    return state.withLock { $0.events.isEmpty }
  }

  /// The contract's answers, as results.
  private static func result(_ outcome: EdgeConnection.Outcome, to id: UUIDv7, edge: String) -> RequestResult {
    guard case .answer(let status, let body, let pause) = outcome else { return .noAnswer }
    switch status {
    case 200:
      let response = body.withUnsafeBytes { try? AdResponse.read($0, headers: RecordHeaders()) }
      guard let response, response.requestID == id else { return .invalid }
      return RequestResult(response, at: DeviceClock.monotonic, edge: edge)
    case 400..<500 where status != 429:
      return .error(.configurationError, detail: EdgeProblem.sentence(body, status: status))
    default:
      return .unavailable(
        status == 429 ? .loadingThrottled : .serverFailure, detail: EdgeProblem.sentence(body, status: status),
        retryAfterMilliseconds: pause ?? 0)
    }
  }
}

/// Events, on the thread.
extension EdgeTransport {
  private func sendEvents() {
    guard let edge else { return }
    var retry = Retry(baseMilliseconds: 500, boundMaximumMilliseconds: 300_000)
    var most = EdgeBatch.eventsMaximum
    var random = SystemRandomNumberGenerator()
    while let batch = nextBatch(most: most) {
      let outcome = edge.post("v1/events", batch.encoded(), timeoutMilliseconds: Self.batchTimeoutMilliseconds)
      note(outcome)
      switch outcome {
      case .answer(status: 200, let body, _):
        // What it took it has, also where it does not say so in words that we know.
        let refusals = try? EdgeRefusals(reading: body)
        for (index, sentence) in refusals?.sentences ?? [:] where batch.events.indices.contains(index) {
          context.log(AdLogEntry(.warning, "event \(batch.events[index].id) was refused: \(sentence)"))
        }
        finish(batch)
        retry.reset()
        most = EdgeBatch.eventsMaximum
      case .answer(status: 413, _, _) where batch.events.count > 1: most = batch.events.count / 2
      case .answer(let status, let body, _) where (400..<500).contains(status) && status != 429:
        // It never will be taken.
        let sentence = EdgeProblem.sentence(body, status: status)
        context.log(AdLogEntry(.warning, "\(batch.events.count) events were refused: \(sentence)"))
        finish(batch)
      case .answer(_, _, let pause):
        wait(pause ?? retry.delayMilliseconds(now: 0, using: &random) ?? 0)
      case .unreachable: wait(retry.delayMilliseconds(now: 0, using: &random) ?? 0)
      }
    }
  }

  /// The next events of one client, once there are enough, or the first has waited long enough; nil at the end.
  private func nextBatch(most: Int) -> EdgeBatch? {
    let appKey = context.appKey
    while true {
      let now = DeviceClock.monotonic
      let (batch, isOver, pause) = state.withLock { state -> (EdgeBatch?, Bool, Int64) in
        let isOver = state.end.map { state.events.isEmpty || $0 <= now } ?? false
        guard let first = state.events.first else {
          state.isHurried = state.end != nil
          return (nil, isOver, 60_000)
        }
        let waited = now.milliseconds(since: first.since)
        guard isOver || state.isHurried || state.events.count >= most || waited >= batchMilliseconds else {
          return (nil, false, batchMilliseconds - waited)
        }
        var bytes = 0
        let events = state.events.prefix(most).prefix { waiting in
          bytes += waiting.event.encoded.value.count
          let isFirst = waiting.event.id == first.event.id
          return isFirst || waiting.event.partitionKey == first.event.partitionKey && bytes <= EdgeBatch.bytesMaximum
        }
        let batch = EdgeBatch(appKey: appKey, clientKey: first.event.partitionKey, events: events.map(\.event))
        return (batch, isOver, 0)
      }
      if isOver { return nil }
      if let batch { return batch }
      let (count, isHurried) = state.withLock { ($0.events.count, $0.isHurried) }
      _ = state.wait(timeoutMilliseconds: Int(pause)) { $0.isHurried != isHurried || $0.events.count != count }
    }
  }

  private func finish(_ batch: EdgeBatch) {
    let finished = state.update { state in
      defer { state.events.removeFirst(batch.events.count) }
      return Array(state.events.prefix(batch.events.count))
    }
    for waiting in finished { waiting.acknowledged() }
  }

  /// Waits before the next try, unless the end comes.
  private func wait(_ milliseconds: Int64) {
    let end = state.withLock { $0.end }
    let left = end.map { max(0, $0.milliseconds(since: DeviceClock.monotonic)) } ?? milliseconds
    _ = state.wait(timeoutMilliseconds: Int(min(milliseconds, left))) { ($0.end != nil) != (end != nil) }
  }

  private func note(_ outcome: EdgeConnection.Outcome) {
    switch outcome {
    case .unreachable(let why): note(.unreachable, "nobody answers at \(address): \(why)")
    case .answer(403, let body, _): note(.unauthorized, EdgeProblem.sentence(body, status: 403))
    case .answer(404, _, _): note(.other, "\(address) is no edge: it knows no /v1/ads")
    case .answer(let status, let body, _) where status == 429 || status >= 500:
      note(.busy, EdgeProblem.sentence(body, status: status))
    case .answer: change(.connected)
    }
  }

  private func note(_ kind: AdConnectionProblem.Kind, _ detail: String) {
    change(.disconnected(AdConnectionProblem(kind, detail)))
  }

  private func change(_ connection: AdConnectionState) {
    let isNew = state.withLock { state in
      defer { state.connection = connection }
      return state.connection != connection
    }
    guard isNew else { return }
    context.log(connection.problem.map { AdLogEntry(.warning, $0.detail) } ?? AdLogEntry(.debug, "connected"))
  }
}
