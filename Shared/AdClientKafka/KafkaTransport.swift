public import AdClient
package import AdEvents
internal import Synchronization
internal import Threads

/// The client's way to the network over Kafka, on two threads of its own: one sends, one reads answers.
///
/// Requests and events are only queued by the caller. The sending thread hands them to a producer; when that fails it
/// builds another and sends again whatever the broker has not acknowledged, so that an event gets there as long as the
/// process lives. A request goes out only once the reading thread stands at the end of the response topics, or its
/// answer could be missed.
package final class KafkaTransport: NetworkTransport {
  /// How long the threads have for their own end; a hanging librdkafka must not hang the app.
  private static let endMilliseconds = 10_000

  private let state: TransportState
  private let threads: [OwnerThread]

  /// Starts connecting; requests and events are taken from now on.
  package init(settings: KafkaTransportSettings) {
    let state = TransportState(settings: settings)
    self.state = state
    threads = [
      OwnerThread("handbill-sender") { KafkaSender(transport: state).run() },
      OwnerThread("handbill-reader") { KafkaReader(transport: state).run() },
    ]
  }

  package func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void
  ) {
    let once = OnceOnly(acknowledged)
    let waiting = TransportState.WaitingRequest(
      request: request, acknowledged: { once.call() }, completion: completion)
    var first = request
    first.deadlineMilliseconds = state.settings.deadlineMilliseconds
    let isTaken = state.withNews { [first] state in
      guard state.end == nil, state.requests.add(waiting, id: request.requestID, at: DeviceClock.monotonic) else {
        return false
      }
      state.unsentRequests.append(first)
      return true
    }
    if !isTaken { completion(.noAnswer) }
  }

  package func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool {
    let record = EncodedRecord(event)
    let waiting = TransportState.WaitingEvent(record: record, ended: ended)
    return state.withNews { state in
      guard state.end == nil, state.events.add(waiting, bytes: record.bytes) else {
        state.counts.eventsRefused += 1
        return false
      }
      return true
    }
  }

  /// Events that the broker has not acknowledged yet.
  package var eventsWaiting: Int { state.withLock { $0.events.count } }
  /// Requests without an answer yet.
  var requestsWaiting: Int { state.withLock { $0.requests.count } }
  package var connection: AdConnectionState { state.withLock { $0.connection } }
  var counts: KafkaTransportCounts { state.withLock { $0.counts } }
  /// The partition that answers come to; nil until the reading thread stands at the end of the response topics.
  var replyPartition: Int32? { state.withLock { $0.replyPartition } }

  @discardableResult
  package func close(timeoutMilliseconds: Int) -> Bool {
    let end = DeviceClock.monotonic.advanced(byMilliseconds: Int64(timeoutMilliseconds))
    let abandoned = state.withNews { state -> [TransportState.WaitingRequest]? in
      guard state.end == nil else { return nil }
      state.end = end
      state.unsentRequests = FirstInFirstOut()
      return state.requests.removeAll()
    }
    guard let abandoned else { return eventsWaiting == 0 }
    for request in abandoned { request.completion(.noAnswer) }
    state.closing.make()
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds + Self.endMilliseconds)
    for thread in threads { _ = thread.join(timeoutMilliseconds: Int(deadline.remainingMilliseconds)) }
    return eventsWaiting == 0
  }

  /// Waits until every event is acknowledged and every request answered or given up. It blocks.
  ///
  /// - Returns: False when the time ran out first.
  package func waitUntilIdle(timeoutMilliseconds: Int) -> Bool {
    state.waitUntilIdle(timeoutMilliseconds: timeoutMilliseconds)
  }
}

/// A closure that runs the first time it is called: a request asked twice is acknowledged twice, and counts once.
private final class OnceOnly: Sendable {
  private let isDone = Atomic(false)
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  func call() {
    if !isDone.exchange(true, ordering: .acquiringAndReleasing) { body() }
  }
}

extension AdTransport {
  /// Over Kafka, for trusted servers and networks of one house: whoever connects needs a broker's password, and reads all
  /// answers of its app.
  ///
  /// - Parameters:
  ///   - servers: `host:port`, separated by commas.
  ///   - properties: Further settings by librdkafka's names: `security.protocol`, `ssl.ca.location`, `sasl.mechanisms`,
  ///     `sasl.username`, `sasl.password`.
  ///   - isEmbedded: True when the broker is the embedded one of a demo.
  public static func kafka(
    _ servers: String, properties: [String: String] = [:], isEmbedded: Bool = false
  ) -> AdTransport {
    AdTransport { context in
      var settings = KafkaTransportSettings(bootstrapServers: servers, apps: [context.app])
      settings.isEmbedded = isEmbedded
      settings.deadlineMilliseconds = context.deadlineMilliseconds
      settings.askAgainMilliseconds = context.deadlineMilliseconds / 3
      settings.properties = properties
      settings.log = context.log
      return KafkaTransport(settings: settings)
    }
  }
}
