internal import AdBasics
internal import AdEvents
internal import Dispatch
internal import Threads

extension AdTransport {
  /// Through the network's edge, for devices.
  ///
  /// - Parameter address: Its `http` or `https` address, such as `https://ads.example`.
  public static func edge(_ address: String) -> AdTransport { edge(address, batchMilliseconds: 1_000) }

  /// - Parameter batchMilliseconds: How long an event waits for others, so that the device's radio can sleep.
  package static func edge(_ address: String, batchMilliseconds: Int64) -> AdTransport {
    let edge = EdgeConnection(address)
    return AdTransport { EdgeTransport(edge, address: address, context: $0, batchMilliseconds: batchMilliseconds) }
  }
}

/// The way of one client to the network over HTTP: a request at once, events in batches, one after the other, each until
/// the edge has it. It has no thread of its own, so that a process can have thousands.
///
/// What waits keeps it alive: events get there as long as the process lives, also when their client is gone.
final class EdgeTransport: NetworkTransport {
  /// What all of it goes by.
  struct State {
    var feed: EdgeFeed
    /// Whoever waited for the batch that has just ended is being told.
    var isTelling = false
    var requestCount = 0
    var connection = AdConnectionState.connecting
    /// When the events are looked at again; nil while nobody is told to.
    var alarmAt: MonotonicTime?
    /// What is under way, by its number.
    var exchanges: [UInt64: EdgeConnection.Exchange] = [:]
    var lastExchange: UInt64 = 0
    /// Until when events are sent; nil while nobody has closed the transport.
    var end: MonotonicTime?

    /// Every event has ended, and whoever waited for that knows it.
    var isDone: Bool { feed.isEmpty && !isTelling }
  }

  /// A request until it is answered.
  private struct Asked: Sendable {
    var request: AdRequest
    var asking: EdgeAsking
    let acknowledged: @Sendable () -> Void
    let completion: @Sendable (RequestResult) -> Void
  }

  /// The most requests that wait for answers at once.
  private static let requestsMaximum = 1_000
  /// How long an answer may take on the way, in milliseconds, beyond the request's own deadline.
  private static let wayMilliseconds: Int64 = 2_000
  private static let forbiddenStatus = 403
  static let tooLargeStatus = 413
  static let throttledStatus = 429
  private static let queue = DispatchQueue(label: "handbill-edge", attributes: .concurrent)

  let edge: EdgeConnection?
  let address: String
  let context: AdTransport.Context
  let state: Monitor<State>

  init(_ edge: EdgeConnection?, address: String, context: AdTransport.Context, batchMilliseconds: Int64) {
    self.address = address
    self.context = context
    self.edge = edge
    state = Monitor(State(feed: EdgeFeed(batchMilliseconds: batchMilliseconds)))
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
    let deadline = DeviceClock.monotonic.advanced(byMilliseconds: context.deadlineMilliseconds)
    let asking = EdgeAsking(deadline: deadline)
    ask(Asked(request: request, asking: asking, acknowledged: acknowledged, completion: completion), edge)
  }

  /// Asks, and again as long as nobody knows whether the network has the request.
  private func ask(_ asked: Asked, _ edge: EdgeConnection) {
    var asked = asked
    let left = max(1, asked.asking.deadline.milliseconds(since: DeviceClock.monotonic))
    asked.request.deadlineMilliseconds = left
    exchange {
      edge.post("v1/ads", asked.request.encoded(), timeoutMilliseconds: left + Self.wayMilliseconds, completion: $0)
    } completion: { [self, asked] outcome in
      note(outcome)
      let isOver = state.withLock { $0.end != nil }
      var next = asked
      var random = SystemRandomNumberGenerator()
      guard !isOver, let pause = next.asking.pause(after: outcome, at: DeviceClock.monotonic, using: &random) else {
        return finish(asked, outcome)
      }
      after(pause) { [self, next] in ask(next, edge) }
    }
  }

  private func finish(_ asked: Asked, _ outcome: EdgeConnection.Outcome) {
    state.update { $0.requestCount -= 1 }
    if case .answer(let answer) = outcome, answer.hasArrived { asked.acknowledged() }
    asked.completion(result(outcome, to: asked.request.requestID))
  }

  func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool {
    let isTaken = state.withLock { state in
      state.end == nil && state.feed.add(event, ended: ended, at: DeviceClock.monotonic)
    }
    if isTaken { sendEvents() }
    return isTaken
  }

  func flush() {
    state.withLock { $0.feed.hurry() }
    sendEvents()
  }

  @discardableResult
  func close(timeoutMilliseconds: Int) -> Bool {
    let end = DeviceClock.monotonic.advanced(byMilliseconds: Int64(timeoutMilliseconds))
    state.update { state in
      state.end = state.end ?? end
      state.feed.hurry()
      state.feed.endPause()
    }
    sendEvents()
    _ = state.wait(timeoutMilliseconds: timeoutMilliseconds) { $0.isDone }
    let left = state.withLock { Array($0.exchanges.values) }
    for exchange in left { exchange.cancel() }
    return state.withLock { $0.isDone }
  }

  /// Begins an exchange, which `close` can break off.
  func exchange(
    _ begin: (@escaping @Sendable (EdgeConnection.Outcome) -> Void) -> EdgeConnection.Exchange,
    completion: @escaping @Sendable (EdgeConnection.Outcome) -> Void
  ) {
    let number = state.withLock { state in
      state.lastExchange += 1
      return state.lastExchange
    }
    let isOver = Monitor(false)
    let exchange = begin { [self] outcome in
      isOver.withLock { $0 = true }
      state.withLock { _ = $0.exchanges.removeValue(forKey: number) }
      completion(outcome)
    }
    // It may have been answered before it could be noted.
    state.withLock { $0.exchanges[number] = exchange }
    if isOver.withLock({ $0 }) { state.withLock { _ = $0.exchanges.removeValue(forKey: number) } }
  }

  /// Does something later, on a thread of the process's pool.
  func after(_ milliseconds: Int64, _ work: @escaping @Sendable () -> Void) {
    Self.queue.asyncAfter(deadline: .now() + .milliseconds(Int(milliseconds)), execute: work)
  }

  /// The contract's answers, as results.
  private func result(_ outcome: EdgeConnection.Outcome, to id: UUIDv7) -> RequestResult {
    guard case .answer(let answer) = outcome else { return .noAnswer }
    switch answer.meaning {
    case .done:
      let response = answer.body.withUnsafeBytes { try? AdResponse.read($0, headers: RecordHeaders()) }
      guard let response, response.requestID == id else { return .invalid }
      return RequestResult(response, at: DeviceClock.monotonic, edge: address)
    case .refused: return .error(.configurationError, detail: answer.sentence(from: address))
    case .later, .foreign:
      return .unavailable(
        answer.status == Self.throttledStatus ? .loadingThrottled : .serverFailure,
        detail: answer.sentence(from: address), retryAfterMilliseconds: answer.retryAfterMilliseconds ?? 0)
    }
  }

  // MARK: What the connection is like

  /// - Parameter isUnderstood: Whether an answer that has the form of the edge's also was one.
  func note(_ outcome: EdgeConnection.Outcome, isUnderstood: Bool = true) {
    switch outcome {
    case .unreachable(let why, _): note(.unreachable, "nobody answers at \(address): \(why)")
    case .answer(let answer):
      let sentence = answer.sentence(from: address)
      switch answer.meaning {
      case .done where isUnderstood: change(.connected)
      case .done, .foreign: note(.notTheNetwork, sentence)
      case .refused: note(answer.status == Self.forbiddenStatus ? .unauthorized : .other, sentence)
      case .later: note(.busy, sentence)
      }
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
