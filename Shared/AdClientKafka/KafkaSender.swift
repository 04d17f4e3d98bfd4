internal import AdBasics
internal import AdClient
internal import AdEvents
internal import Kafka
internal import Records

/// The sending thread: hands what waits to the producer, and again to the next one when that fails.
final class KafkaSender {
  private let transport: TransportState
  private let producer: RebuiltProducer
  /// The producer that records were sent to last.
  private var generation: UInt64?
  /// When the partition counts are fetched again: topics may grow.
  private var refreshAt = DeviceClock.monotonic

  private static let topics = [Topic.requests.name, Topic.impressions.name, Topic.clicks.name]
  /// Report ids from here up are requests', below events' tickets.
  private static let requestReports: UInt64 = 1 << 63
  private static let refreshMilliseconds: Int64 = 30_000
  /// How long a record waits for credit before the sender looks at the rest of its work.
  private static let creditTimeoutMilliseconds = 100

  init(transport: TransportState) {
    self.transport = transport
    var listener = RebuiltProducer.Listener()
    listener.reports = { [transport] in KafkaSender.take($0, transport) }
    listener.lost = { [transport] in
      transport.note("the producer failed", $0)
      transport.withNews { _ in }
    }
    listener.stillDown = { [transport] in transport.note("no producer", $0) }
    listener.rebuilt = { [transport] in transport.withNews { _ in } }
    producer = RebuiltProducer(
      configuration: transport.configuration(role: "out"), topics: KafkaSender.topics,
      pauseMilliseconds: transport.settings.reconnectMilliseconds, listener: listener)
  }

  func run() {
    producer.startLater()
    while true {
      let now = DeviceClock.monotonic
      giveUpAndAskAgain(at: now)
      // After `close` the events that are left have until the end.
      let isOver = transport.withLock { state in
        state.end.map { state.events.count == 0 || $0 <= now } ?? false
      }
      if isOver { break }
      adoptProducer(at: now)
      if let current = producer.producer(generation: generation) { sendAll(current, at: now) }
      transport.waitForNews()
    }
    producer.abort()
  }

  private func giveUpAndAskAgain(at now: MonotonicTime) {
    let givenUp = transport.withProgress { state -> [TransportState.WaitingRequest] in
      var givenUp: [TransportState.WaitingRequest] = []
      for due in state.requests.due(at: now) {
        switch due {
        case .givenUp(let waiting): givenUp.append(waiting)
        case .askAgain(_, let waiting, let remaining):
          var request = waiting.request
          request.deadlineMilliseconds = remaining
          state.unsentRequests.append(request)
        }
      }
      return givenUp
    }
    for waiting in givenUp { waiting.completion(.noAnswer) }
  }

  /// Turns to the producer that there is; what the one before has not reported is sent again.
  private func adoptProducer(at now: MonotonicTime) {
    let current = producer.generation
    guard current != generation else { return }
    if generation != nil {
      transport.withLock { state in
        state.events.producerLost()
        // Requests are not sent again here: they are asked again while their deadline lasts.
        state.sentRequests.removeAll()
        state.counts.producersLost += 1
      }
    }
    generation = current
    refreshAt = now.advanced(byMilliseconds: KafkaSender.refreshMilliseconds)
  }

  private func sendAll(_ producer: KafkaProducer, at now: MonotonicTime) {
    if now >= refreshAt {
      refreshAt = now.advanced(byMilliseconds: KafkaSender.refreshMilliseconds)
      // Old counts serve as long as new ones are not to be had.
      try? producer.warmUp(topics: KafkaSender.topics, timeoutMilliseconds: 1_000)
    }
    guard sendRequests(producer) else { return }
    while let (ticket, event) = transport.withLock({ $0.events.nextWaiting() }) {
      switch hand(event.record, reportID: ticket, producer) {
      case .taken: transport.withLock { $0.events.sent(ticket) }
      case .later: return
      case .never(let error):
        let log = transport.settings.log
        transport.withProgress { KafkaSender.refuse(ticket, error, log, &$0) }?()
      }
    }
  }

  /// False when the producer takes nothing more now.
  private func sendRequests(_ producer: KafkaProducer) -> Bool {
    while true {
      let next = transport.withLock { state -> (AdRequest, Int32, UInt64, @Sendable () -> Void)? in
        guard let partition = state.replyPartition else { return nil }
        while let request = state.unsentRequests.first {
          guard let waiting = state.requests.waiting(request.requestID) else {
            // Answered or given up before it was asked (again).
            state.unsentRequests.removeFirst()
            continue
          }
          state.requestSerial += 1
          return (request, partition, state.requestSerial, waiting.acknowledged)
        }
        return nil
      }
      guard let (request, partition, serial, acknowledged) = next else { return true }
      let record = EncodedRecord(request, replyPartition: partition, time: DeviceClock.wall)
      transport.withLock { $0.sentRequests[serial] = acknowledged }
      let outcome = hand(record, reportID: KafkaSender.requestReports | serial, producer)
      transport.withLock { state in
        if !outcome.isTaken { state.sentRequests[serial] = nil }
        // Only this thread takes from the front, but the end of the transport may have emptied it.
        if !outcome.isForLater, state.unsentRequests.first?.requestID == request.requestID {
          state.unsentRequests.removeFirst()
        }
      }
      if outcome.isForLater { return false }
    }
  }

  private enum Handing {
    case taken, later
    case never(KafkaError)

    var isTaken: Bool { if case .taken = self { true } else { false } }
    var isForLater: Bool { if case .later = self { true } else { false } }
  }

  private func hand(_ record: EncodedRecord, reportID: UInt64, _ producer: KafkaProducer) -> Handing {
    do throws(KafkaError) {
      guard let count = producer.partitionCount(topic: record.topic), count > 0 else { return .later }
      try producer.send(
        topic: record.topic, partition: KafkaPartition.of(key: record.partitionKey, count: count),
        key: Array(record.partitionKey.utf8), value: record.value, headers: record.headers, reportID: reportID,
        timeoutMilliseconds: KafkaSender.creditTimeoutMilliseconds)
      return .taken
    } catch {
      transport.note("not sent", error)
      return error.kind == .recordRefused ? .never(error) : .later
    }
  }

  /// Delivery reports, on the producer's thread. A success counts whichever producer tells it.
  static func take(_ reports: [KafkaDeliveryReport], _ transport: TransportState) {
    if reports.contains(where: { $0.error == nil }) { transport.delivered() }
    let told = transport.withProgress { state in
      reports.compactMap { report in
        report.reportID >= requestReports
          ? takeRequest(report, &state) : takeEvent(report, transport.settings.log, &state)
      }
    }
    for tell in told { tell() }
    // Credit has come back.
    transport.withNews { _ in }
  }

  /// Whoever is to be told that the broker has the request.
  private static func takeRequest(
    _ report: KafkaDeliveryReport, _ state: inout TransportState.Waiting
  ) -> (@Sendable () -> Void)? {
    let acknowledged = state.sentRequests.removeValue(forKey: report.reportID & ~requestReports)
    return report.error == nil ? acknowledged : nil
  }

  /// Whoever is to be told that the broker has the event, or will never take it.
  private static func takeEvent(
    _ report: KafkaDeliveryReport, _ log: @escaping AdLog, _ state: inout TransportState.Waiting
  ) -> (@Sendable () -> Void)? {
    guard let error = report.error else {
      guard let event = state.events.finish(report.reportID) else { return nil }
      return { event.ended(.acknowledged) }
    }
    return error.kind == .recordRefused ? refuse(report.reportID, error, log, &state) : nil
  }

  private static func refuse(
    _ ticket: UInt64, _ error: KafkaError, _ log: @escaping AdLog, _ state: inout TransportState.Waiting
  ) -> (@Sendable () -> Void)? {
    guard let event = state.events.finish(ticket) else { return nil }
    state.counts.eventsUndeliverable += 1
    return {
      log(AdLogEntry(.warning, "an event was refused by the brokers: \(error)"))
      event.ended(.refused)
    }
  }
}
