internal import AdCore
package import AdEvents
internal import Dispatch
internal import Foundation
internal import Kafka
internal import Synchronization
internal import Threads

/// The client's way to the network over Kafka, on two threads of its own: one sends, one reads answers.
///
/// Requests and events are only queued by the caller. The sending thread hands them to a producer; when that fails it
/// builds another and sends again whatever the broker has not acknowledged, so that an event gets there as long as the
/// process lives. A request goes out only once the reading thread stands at the end of the response topics, or its
/// answer could be missed.
package final class KafkaTransport: NetworkTransport {
  struct WaitingRequest: Sendable {
    let request: AdRequest
    let acknowledged: @Sendable () -> Void
    let completion: @Sendable (RequestResult) -> Void
  }

  struct WaitingEvent: Sendable {
    let record: EncodedRecord
    let acknowledged: @Sendable () -> Void
  }

  struct State: ~Copyable {
    var requests: RequestTable<WaitingRequest>
    var events: DeliveryQueue<WaitingEvent>
    /// Requests to hand to the producer: new ones and those asked again.
    var unsentRequests = FirstInFirstOut<AdRequest>()
    /// Who waits for the broker's word on a request, by the number of its sending.
    var sentRequests: [UInt64: @Sendable () -> Void] = [:]
    var requestSerial: UInt64 = 0
    /// Where answers come to; nil until the reader stands at the end of the response topics.
    var replyPartition: Int32?
    var counts = KafkaTransportCounts()
    var isClosing = false
    var threadsRunning = 2
  }

  package let settings: KafkaTransportSettings
  let state: Mutex<State>
  /// Wakes the sending thread.
  private let work = DispatchSemaphore(value: 0)
  private let closing = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)
  /// Whether `work` was signalled since the sender last looked: one signal is enough for any amount of work.
  private let isSignalled = Atomic(false)

  /// Told whenever something was acknowledged, answered or given up.
  private let progress = Monitor(())

  /// Starts connecting; requests and events are taken from now on.
  package init(settings: KafkaTransportSettings) {
    self.settings = settings
    state = Mutex(
      State(
        requests: RequestTable(
          requestsMaximum: settings.requestsMaximum, askAgainMilliseconds: settings.askAgainMilliseconds,
          deadlineMilliseconds: settings.deadlineMilliseconds),
        events: DeliveryQueue(recordsMaximum: settings.eventsMaximum, bytesMaximum: settings.eventBytesMaximum)))
    let sender = Thread { [self] in
      KafkaSender(transport: self).run()
      threadEnded()
    }
    sender.name = "handbill-sender"
    sender.start()
    let reader = Thread { [self] in
      KafkaReader(transport: self).run()
      threadEnded()
    }
    reader.name = "handbill-reader"
    reader.start()
  }

  package func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void
  ) {
    let isTaken = state.withLock { state in
      guard !state.isClosing else { return false }
      let once = OnceOnly(acknowledged)
      let waiting = WaitingRequest(request: request, acknowledged: { once.call() }, completion: completion)
      guard state.requests.add(waiting, id: request.requestID, at: DeviceClock.monotonic) else { return false }
      var first = request
      first.deadlineMilliseconds = settings.deadlineMilliseconds
      state.unsentRequests.append(first)
      return true
    }
    if isTaken { wakeSender() } else { completion(.noAnswer) }
  }

  package func send(_ event: OutgoingEvent, acknowledged: @escaping @Sendable () -> Void) -> Bool {
    let record = EncodedRecord(event)
    let isTaken = state.withLock { state in
      guard !state.isClosing,
        state.events.add(WaitingEvent(record: record, acknowledged: acknowledged), bytes: record.bytes)
      else {
        state.counts.eventsRefused += 1
        return false
      }
      return true
    }
    if isTaken { wakeSender() }
    return isTaken
  }

  /// Events that the broker has not acknowledged yet.
  package var eventsWaiting: Int { state.withLock { $0.events.count } }
  /// Requests without an answer yet.
  package var requestsWaiting: Int { state.withLock { $0.requests.count } }
  package var counts: KafkaTransportCounts { state.withLock { $0.counts } }
  /// The partition that answers come to; nil until the reader stands at the end of the response topics.
  package var replyPartition: Int32? { state.withLock { $0.replyPartition } }

  /// Ends the transport: what waits has until `timeoutMilliseconds` to be acknowledged. Requests without an answer
  /// get `noAnswer`. It blocks: call it from a thread of your own.
  ///
  /// - Returns: True when every event was acknowledged.
  @discardableResult
  package func close(timeoutMilliseconds: Int) -> Bool {
    let end = DeviceClock.monotonic.advanced(byMilliseconds: Int64(timeoutMilliseconds))
    let abandoned = state.withLock { state -> [WaitingRequest]? in
      guard !state.isClosing else { return nil }
      state.isClosing = true
      state.unsentRequests = FirstInFirstOut()
      return state.requests.removeAll()
    }
    guard let abandoned else { return eventsWaiting == 0 }
    for request in abandoned { request.completion(.noAnswer) }
    closingEnd.store(end.milliseconds, ordering: .releasing)
    wakeSender()
    closing.signal()
    // The threads stop by themselves soon after the end; a hanging librdkafka must not hang the app.
    _ = ended.wait(timeout: .now() + .milliseconds(timeoutMilliseconds + 10_000))
    return eventsWaiting == 0
  }

  /// Waits until every event is acknowledged and every request answered or given up. It blocks.
  ///
  /// - Returns: False when the time ran out first.
  package func waitUntilIdle(timeoutMilliseconds: Int) -> Bool {
    progress.wait(timeoutMilliseconds: timeoutMilliseconds) { [self] _ in requestsWaiting == 0 && eventsWaiting == 0 }
  }

  /// Wakes whoever waits until nothing is left.
  func noteProgress() { progress.update { _ in } }

  /// Until when the sender goes on after `close`, on the monotonic clock.
  let closingEnd = Atomic(Int64.max)

  func wakeSender() {
    if !isSignalled.exchange(true, ordering: .acquiringAndReleasing) { work.signal() }
  }

  /// The reading thread waits here between two consumers.
  func waitForClosing(milliseconds: Int64) {
    if closing.wait(timeout: .now() + .milliseconds(Int(milliseconds))) == .success { closing.signal() }
  }

  /// The sending thread waits here for work, or until `moment`.
  func waitForWork(until moment: MonotonicTime?) {
    let milliseconds = moment.map { max(0, $0.milliseconds(since: DeviceClock.monotonic)) } ?? 1_000
    _ = work.wait(timeout: .now() + .milliseconds(Int(min(milliseconds, 1_000))))
    isSignalled.store(false, ordering: .releasing)
  }

  private func threadEnded() {
    let isLast = state.withLock { state in
      state.threadsRunning -= 1
      return state.threadsRunning == 0
    }
    if isLast { ended.signal() }
  }

  func note(_ problem: String) { state.withLock { $0.counts.lastProblem = problem } }

  func configuration(role: String) -> KafkaConfiguration {
    var configuration = KafkaConfiguration(
      bootstrapServers: settings.bootstrapServers, clientID: "handbill-client-\(role)",
      environment: settings.isEmbedded ? .embedded : .real)
    configuration.lingerMilliseconds = settings.lingerMilliseconds
    configuration.properties = settings.properties
    return configuration
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
