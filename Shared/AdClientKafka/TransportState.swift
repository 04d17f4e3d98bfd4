internal import AdClient
internal import AdEvents
internal import Kafka
internal import Threads

/// What the caller of a transport and its two threads share.
final class TransportState: Sendable {
  struct WaitingRequest: Sendable {
    let request: AdRequest
    let acknowledged: @Sendable () -> Void
    let completion: @Sendable (RequestResult) -> Void
  }

  struct WaitingEvent: Sendable {
    let record: EncodedRecord
    let ended: @Sendable (EventEnd) -> Void
  }

  /// What waits, and for whom.
  struct Waiting {
    var requests: RequestTable<WaitingRequest>
    var events: DeliveryQueue<WaitingEvent>
    /// Requests to hand to the producer: new ones and those asked again.
    var unsentRequests = FirstInFirstOut<AdRequest>()
    /// Who waits for the broker's word on a request, by the number of its sending.
    var sentRequests: [UInt64: @Sendable () -> Void] = [:]
    var requestSerial: UInt64 = 0
    /// Where answers come to; nil until the reading thread stands at the end of the response topics.
    var replyPartition: Int32?
    var counts = KafkaTransportCounts()
    var connection = AdConnectionState.connecting
    /// Until when the sending thread goes on; nil while nobody has closed the transport.
    var end: MonotonicTime?
    /// Whether something happened that the sending thread has not looked at yet.
    var hasNews = false

    /// Every event is acknowledged, and every request answered or given up.
    var isIdle: Bool { requests.count == 0 && events.count == 0 }
  }

  /// The sending thread looks at its work at least this often.
  private static let lookMilliseconds: Int64 = 1_000

  let settings: KafkaTransportSettings
  /// The transport is closed: the reading thread ends, and waits for nothing before it.
  let closing = StopRequest()
  private let waiting: Monitor<Waiting>

  init(settings: KafkaTransportSettings) {
    self.settings = settings
    waiting = Monitor(
      Waiting(
        requests: RequestTable(
          requestsMaximum: settings.requestsMaximum, askAgainMilliseconds: settings.askAgainMilliseconds,
          deadlineMilliseconds: settings.deadlineMilliseconds),
        events: DeliveryQueue(recordsMaximum: settings.eventsMaximum, bytesMaximum: settings.eventBytesMaximum)))
  }

  /// Reads what waits, or changes it in a way that nobody waits for.
  func withLock<Result: Sendable>(_ body: (inout Waiting) -> Result) -> Result { waiting.withLock { body(&$0) } }

  /// Changes what waits, and lets the sending thread look at it.
  @discardableResult
  func withNews<Result: Sendable>(_ body: (inout Waiting) -> Result) -> Result {
    waiting.update { waiting in
      waiting.hasNews = true
      return body(&waiting)
    }
  }

  /// Takes away from what waits; when nothing is left, tells whoever waits for that.
  func withProgress<Result: Sendable>(_ body: (inout Waiting) -> Result) -> Result {
    let (result, isIdle) = waiting.withLock { waiting in (body(&waiting), waiting.isIdle) }
    if isIdle { waiting.update { _ in } }
    return result
  }

  /// Blocks the sending thread until there is news, or something is due.
  func waitForNews() {
    let now = DeviceClock.monotonic
    let due = waiting.withLock { waiting in [waiting.requests.nextWake, waiting.end].compactMap { $0 }.min() }
    let milliseconds = due.map { $0.milliseconds(since: now) } ?? Self.lookMilliseconds
    _ = waiting.waitForResult(timeoutMilliseconds: Int(min(milliseconds, Self.lookMilliseconds))) { waiting -> Bool? in
      guard waiting.hasNews else { return nil }
      waiting.hasNews = false
      return true
    }
  }

  /// Blocks until nothing waits; false when the time ran out first.
  func waitUntilIdle(timeoutMilliseconds: Int) -> Bool {
    waiting.wait(timeoutMilliseconds: timeoutMilliseconds) { $0.isIdle }
  }

  /// The network was heard.
  func connected() { change(.connected) }

  /// A broker has taken a record: it is there. What the reader lacks, as a topic or the right to read it, it lacks still.
  func delivered() {
    switch withLock({ $0.connection }).problem?.kind {
    case .topicMissing, .unauthorized: break
    default: connected()
    }
  }

  /// Remembers why the connection is built again.
  func note(_ what: String, _ error: KafkaError) {
    note(AdConnectionProblem(error, "\(what): \(error)", servers: settings.bootstrapServers))
  }

  func note(_ problem: AdConnectionProblem) {
    withLock { $0.counts.lastProblem = problem.detail }
    change(.disconnected(problem))
  }

  private func change(_ connection: AdConnectionState) {
    let isNew = withLock { state in
      defer { state.connection = connection }
      return state.connection != connection
    }
    guard isNew else { return }
    settings.log(connection.problem.map { AdLogEntry(.warning, $0.detail) } ?? AdLogEntry(.debug, "connected"))
  }

  func configuration(role: String) -> KafkaConfiguration {
    var configuration = KafkaConfiguration(
      bootstrapServers: settings.bootstrapServers, clientID: "handbill-client-\(role)",
      environment: settings.isEmbedded ? .embedded : .real)
    configuration.lingerMilliseconds = settings.lingerMilliseconds
    configuration.properties = settings.properties
    return configuration
  }
}

extension AdConnectionProblem {
  /// What an error of Kafka's means to the app's developer.
  ///
  /// - Parameter servers: Where the client was told to look.
  init(_ error: KafkaError, _ what: String, servers: String) {
    switch error.kind {
    case .brokerUnavailable, .timedOut: self.init(.unreachable, "nobody answers at \(servers): \(what)")
    case .notAuthorized: self.init(.unauthorized, "\(servers) refuses the credentials: \(what)")
    case .unknownTopic, .unknownPartition:
      self.init(.topicMissing, "a topic is missing ('handbill topics create --app ID' makes it): \(what)")
    default: self.init(.other, what)
    }
  }
}
