internal import AdCore
internal import AdEvents
internal import EdgeCore
internal import Kafka
internal import PipelineHost
internal import Records
internal import Runtime
internal import Threads

/// Between HTTP and Kafka: writes what is asked and told, and answers when an answer, or the broker's word, has come.
///
/// Nothing is told as taken before the broker has it (`acks=all`). Everything that waits has a deadline and a bound; while
/// the broker takes nothing, what comes is refused at once.
final class EdgeExchange: Sendable {
  struct Limits: Sendable {
    /// Requests that may wait for an answer at the same time, and batches that may wait for the broker's word.
    var waitingMaximum = 20_000
    /// How long a batch waits for the broker's word.
    var deliveryMilliseconds: Int64 = 5_000
    /// After how long without a word of the broker it counts as away.
    var stallMilliseconds: Int64 = 2_000
  }

  /// An answer as it was read.
  struct Answer: Sendable {
    let body: [UInt8]
    let contentType: String
  }

  typealias AdReply = @Sendable (Result<Answer, EdgeRefusal>) -> Void
  typealias EventReply = @Sendable (EdgeRefusal?) -> Void

  private struct State {
    var asked: WaitingTable<AdReply>
    var told: WaitingTable<EventReply>
    /// Where answers are read; nil while they are not.
    var partition: Int32?
    /// The last moment at which nothing was in flight, or the broker gave a word.
    var lastWordAt = MonotonicClock.milliseconds
    var isClosed = false

    var nextDeadline: Int64? { [asked.nextDeadline, told.nextDeadline].compactMap { $0 }.min() }
  }

  private static let away = EdgeRefusal.unavailable(detail: "Kafka takes nothing now")
  private static let unread = EdgeRefusal.unavailable(detail: "no answers are read now")
  private static let crowded = EdgeRefusal.unavailable(detail: "too much waits already")
  private static let tickMilliseconds: Int64 = 1_000

  private let limits: Limits
  private let metrics: EdgeMetrics
  private let logger: Logger
  private let state: Monitor<State>
  /// Names this process in correlation ids.
  private let instance: String
  private let producer: RebuiltProducer

  init(kafka: KafkaConfiguration, limits: Limits, metrics: EdgeMetrics, logger: Logger) {
    self.limits = limits
    self.metrics = metrics
    self.logger = logger
    let state = Monitor(
      State(
        asked: WaitingTable(countMaximum: limits.waitingMaximum),
        told: WaitingTable(countMaximum: limits.waitingMaximum)))
    self.state = state
    instance = String(UInt64.random(in: .min ... .max), radix: 36)
    var listener = RebuiltProducer.Listener()
    listener.reports = { EdgeExchange.take($0, state) }
    listener.lost = { error in
      logger.limited(.warning, key: "producer", "Kafka's producer is made again", ["error": .init(error.description)])
      EdgeExchange.refuseAll(state)
    }
    producer = RebuiltProducer(
      configuration: kafka, topics: [Topic.requests, .impressions, .clicks].map(\.name) + [Topic.edgeResponses],
      listener: listener)
  }

  /// Blocks; throws while the topics cannot be seen.
  func start() throws(KafkaError) { try producer.start() }

  /// The partitions that answers may be read from.
  var answerPartitionCount: Int32? { current?.partitionCount(topic: Topic.edgeResponses) }

  private var current: KafkaProducer? { producer.producer(generation: producer.generation) }

  /// Whether what comes now would be refused.
  var isStalled: Bool { current.map(isStalled) ?? true }

  private func isStalled(_ producer: KafkaProducer) -> Bool {
    guard producer.recordsInFlight > 0 else { return false }
    let now = MonotonicClock.milliseconds
    return state.withLock { now - $0.lastWordAt > limits.stallMilliseconds }
  }

  // MARK: What is asked

  /// Writes a request, and answers by `reply`, once, when its answer is there or its deadline has passed.
  ///
  /// - Parameter mark: what the edge saw, under its MAC.
  /// - Throws: why it was not written; `reply` is not called then.
  func ask(_ asked: AskedAd, mark: [UInt8], reply: @escaping AdReply) throws(EdgeRefusal) {
    let producer = try usableProducer()
    let due = MonotonicClock.milliseconds + asked.request.deadlineMilliseconds
    let added = add { state -> (id: UInt64?, partition: Int32?) in
      guard let partition = state.partition else { return (nil, nil) }
      return (state.asked.add(reply, due: due), partition)
    }
    guard let partition = added.partition else { throw Self.unread }
    guard let id = added.id else { throw Self.crowded }
    let headers = asked.headers(mark: mark, partition: partition, correlationID: Array("\(instance)-\(id)".utf8))
    if send(producer, .requests, key: asked.key, value: asked.value, headers: headers, reportID: id << 1) { return }
    // Whoever has been answered meanwhile has been answered.
    guard state.withLock({ $0.asked.take(id) }) != nil else { return }
    throw Self.away
  }

  /// An answer was read.
  func take(_ answer: Answer, correlationID: [UInt8]) {
    let parts = String(decoding: correlationID, as: UTF8.self).split(separator: "-")
    let id = parts.count == 2 && parts[0] == instance ? UInt64(parts[1]) : nil
    guard let id, let reply = state.withLock({ $0.asked.take(id) }) else {
      metrics.registry.counter(EdgeMetrics.answersDropped).add()
      return
    }
    reply(.success(answer))
  }

  /// Answers are read in this partition, from its end as it was; nil: no more.
  func reads(partition: Int32?) { state.withLock { $0.partition = partition } }

  // MARK: What is told

  /// Writes events of one client, in their order, and calls `reply` once: with nil when the broker has them all.
  ///
  /// - Throws: why they were not written, or not all; `reply` is not called then.
  func tell(_ events: [DeviceEvent], clientKey: String, reply: @escaping EventReply) throws(EdgeRefusal) {
    guard !events.isEmpty else { return reply(nil) }
    let producer = try usableProducer()
    let due = MonotonicClock.milliseconds + limits.deliveryMilliseconds
    guard let id = add({ $0.told.add(reply, words: events.count, due: due) }) else { throw Self.crowded }
    let areTaken = events.allSatisfy { event in
      send(producer, event.topic, key: clientKey, value: event.value, headers: event.headers, reportID: id << 1 | 1)
    }
    guard !areTaken, state.withLock({ $0.told.take(id) }) != nil else { return }
    throw Self.away
  }

  /// The broker's words, on the producer's thread.
  private static func take(_ reports: [KafkaDeliveryReport], _ state: Monitor<State>) {
    let finished = state.withLock { state -> [(EventReply, EdgeRefusal?)] in
      state.lastWordAt = MonotonicClock.milliseconds
      return reports.compactMap { report in
        guard report.reportID & 1 == 1 else { return nil }
        let id = report.reportID >> 1
        if report.error != nil { return state.told.take(id).map { ($0, away) } }
        return state.told.hear(id).map { ($0, nil) }
      }
    }
    for (reply, refusal) in finished { reply(refusal) }
  }

  /// Of what the lost producer had nobody knows whether the broker has it: it is to be told again.
  private static func refuseAll(_ state: Monitor<State>) {
    for reply in state.withLock({ $0.told.takeAll() }) { reply(away) }
  }

  // MARK: Both

  private func usableProducer() throws(EdgeRefusal) -> KafkaProducer {
    guard let producer = current, !isStalled(producer) else { throw Self.away }
    if producer.recordsInFlight == 0 { state.withLock { $0.lastWordAt = MonotonicClock.milliseconds } }
    return producer
  }

  /// Changes the state; wakes the thread of deadlines only where its next one is nearer than before.
  private func add<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    let (result, isNearer) = state.withLock { state -> (Result, Bool) in
      let before = state.nextDeadline ?? .max
      let result = body(&state)
      return (result, state.nextDeadline ?? .max < before)
    }
    if isNearer { state.update { _ in } }
    return result
  }

  /// Hands a record to the producer, without waiting; false where there is no room for it, or no producer any more.
  private func send(
    _ producer: KafkaProducer, _ topic: Topic, key: String, value: [UInt8], headers: [RecordHeader], reportID: UInt64
  ) -> Bool {
    guard let count = producer.partitionCount(topic: topic.name), count > 0 else { return false }
    do throws(KafkaError) {
      try producer.send(
        topic: topic.name, partition: KafkaPartition.of(key: key, count: count), key: Array(key.utf8), value: value,
        headers: headers, reportID: reportID, timeoutMilliseconds: 0)
      return true
    } catch {
      logger.limited(.warning, key: "send", "a record was not taken", ["error": .init(error.description)])
      return false
    }
  }

  /// The thread of deadlines.
  func runDeadlines(_ beat: () -> Void) {
    var isClosed = false
    while !isClosed {
      beat()
      let now = MonotonicClock.milliseconds
      let due = state.withLock { state in
        isClosed = state.isClosed
        return (asked: state.asked.takeDue(now: now), told: state.told.takeDue(now: now), next: state.nextDeadline)
      }
      for reply in due.asked { reply(.failure(.noAnswer)) }
      for reply in due.told { reply(.unavailable(detail: "Kafka did not confirm in time")) }
      measure()
      let wait = min(Self.tickMilliseconds, max(1, (due.next ?? .max) - now))
      let known = due.next ?? .max
      _ = state.wait(timeoutMilliseconds: Int(wait)) { $0.isClosed || $0.nextDeadline ?? .max < known }
    }
  }

  private func measure() {
    let (asked, told, isReading) = state.withLock { ($0.asked.count, $0.told.count, $0.partition != nil) }
    let registry = metrics.registry
    registry.gauge(EdgeMetrics.waiting, ["endpoint": Endpoint.ads.rawValue]).set(Double(asked))
    registry.gauge(EdgeMetrics.waiting, ["endpoint": Endpoint.events.rawValue]).set(Double(told))
    registry.gauge(EdgeMetrics.stalled).set(isStalled || !isReading ? 1 : 0)
  }

  /// Ends the thread of deadlines, and the producer once the broker has what is on its way; what still waits is refused.
  func close(timeoutMilliseconds: Int32) {
    producer.close(timeoutMilliseconds: timeoutMilliseconds)
    let left = state.update { state in
      state.isClosed = true
      return (asked: state.asked.takeAll(), told: state.told.takeAll())
    }
    for reply in left.asked { reply(.failure(Self.away)) }
    for reply in left.told { reply(Self.away) }
  }
}
