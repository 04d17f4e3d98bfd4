internal import AdBasics
internal import AdEvents
internal import Threads

/// The events of one client on their way to the edge: which go next, and when. One batch at a time, so that their order
/// is kept.
struct EdgeFeed {
  /// What is to be done now.
  enum Next {
    /// Nothing waits, or a batch is under way.
    case nothing
    /// Look again then.
    case later(MonotonicTime)
    case send(EdgeBatch)
  }

  private struct Waiting {
    let event: OutgoingEvent
    let ended: @Sendable (EventEnd) -> Void
    let since: MonotonicTime
  }

  /// The most events that wait at once; whoever keeps more keeps them on disk.
  private static let eventsMaximum = 1_000

  /// How long an event waits for others.
  private let batchMilliseconds: Int64
  private var events: [Waiting] = []
  /// How many of them are in the batch that is under way; nil while none is.
  private var underWay: Int?
  /// Nothing waits for company any more, until all are told.
  private var isHurried = false
  /// The most events of the next batch: half of one that was too much, twice as many after one that was taken.
  private var most = EdgeBatch.eventsMaximum
  /// Before this moment nothing is sent.
  private var pausedUntil: MonotonicTime?
  private var retry = Retry(baseMilliseconds: 500, boundMaximumMilliseconds: 300_000)

  init(batchMilliseconds: Int64) { self.batchMilliseconds = batchMilliseconds }

  var isEmpty: Bool { events.isEmpty }

  /// Takes an event; false when too many wait.
  mutating func add(
    _ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void, at now: MonotonicTime
  ) -> Bool {
    guard events.count < Self.eventsMaximum else { return false }
    events.append(Waiting(event: event, ended: ended, since: now))
    return true
  }

  /// What waits is sent at once.
  mutating func hurry() { isHurried = !events.isEmpty }

  /// The next events of one client, once there are enough, or the first has waited long enough.
  mutating func next(appKey: String, at now: MonotonicTime) -> Next {
    guard underWay == nil, let first = events.first else { return .nothing }
    if let pausedUntil, pausedUntil > now { return .later(pausedUntil) }
    let due = first.since.advanced(byMilliseconds: batchMilliseconds)
    guard isHurried || events.count >= most || due <= now else { return .later(due) }
    var bytes = 0
    let batch = events.prefix(most).prefix { waiting in
      bytes += waiting.event.encoded.value.count
      let isFirst = waiting.event.id == first.event.id
      return isFirst || waiting.event.partitionKey == first.event.partitionKey && bytes <= EdgeBatch.bytesMaximum
    }
    underWay = batch.count
    return .send(EdgeBatch(appKey: appKey, clientKey: first.event.partitionKey, events: batch.map(\.event)))
  }

  /// The edge has said of each event of the batch what came of it.
  ///
  /// - Returns: Who waited for that, in order.
  mutating func finished() -> [@Sendable (EventEnd) -> Void] {
    let count = underWay ?? 0
    underWay = nil
    retry.reset()
    most = min(EdgeBatch.eventsMaximum, most * 2)
    defer { events.removeFirst(count) }
    if count == events.count { isHurried = false }
    return events.prefix(count).map(\.ended)
  }

  /// The batch was too large: half of it is next.
  mutating func tooLarge() {
    halve(downTo: 1)
    underWay = nil
  }

  /// The batch costs more than is left of a rate: half of it is next, after a pause. What others of the same address
  /// leave may never be enough for all of it; what costs no more than a request of theirs has its turn as they have.
  mutating func throttled(pause: Int64?, at now: MonotonicTime, using random: inout some RandomNumberGenerator) {
    halve(downTo: EdgeBatch.requestEvents)
    failed(pause: pause, at: now, using: &random)
  }

  private mutating func halve(downTo least: Int) { most = min(most, max(least, (underWay ?? 1) / 2)) }

  /// The batch is to be sent again, after a pause: the edge's own, else one that grows.
  mutating func failed(pause: Int64?, at now: MonotonicTime, using random: inout some RandomNumberGenerator) {
    underWay = nil
    let milliseconds = pause ?? retry.delayMilliseconds(now: 0, using: &random) ?? 0
    pausedUntil = now.advanced(byMilliseconds: milliseconds)
  }

  /// The next try is now, whatever it was to wait for.
  mutating func endPause() { pausedUntil = nil }
}

/// Events, one batch after the other.
extension EdgeTransport {
  /// Sends what is due, and looks again when more is.
  func sendEvents() {
    guard let edge else { return }
    let now = DeviceClock.monotonic
    let (batch, alarm) = state.withLock { state -> (EdgeBatch?, MonotonicTime?) in
      if let end = state.end, end <= now { return (nil, nil) }
      switch state.feed.next(appKey: context.appKey, at: now) {
      case .nothing: return (nil, nil)
      case .send(let batch): return (batch, nil)
      case .later(let moment):
        // Somebody looks sooner already.
        if let alarm = state.alarmAt, alarm > now, alarm <= moment { return (nil, nil) }
        state.alarmAt = moment
        return (nil, moment)
      }
    }
    if let alarm { after(max(1, alarm.milliseconds(since: now))) { self.sendEvents() } }
    guard let batch else { return }
    exchange {
      edge.post(
        "v1/events", batch.encoded(), timeoutMilliseconds: EdgeBatch.timeoutMilliseconds,
        timeLimitMilliseconds: EdgeBatch.timeLimitMilliseconds, completion: $0)
    } completion: { [self] outcome in
      take(outcome, of: batch)
      sendEvents()
    }
  }

  /// Nothing but the edge's word on an event ends it: whatever else is answered, it is told again.
  private func take(_ outcome: EdgeConnection.Outcome, of batch: EdgeBatch) {
    guard case .answer(let answer) = outcome, answer.meaning == .done,
      let result = EdgeResult(reading: answer.body, of: batch.events.count)
    else {
      note(outcome, isUnderstood: false)
      return tellAgain(outcome, batch)
    }
    note(outcome)
    for (index, sentence) in result.refused.sorted(by: { $0.key < $1.key }) {
      context.log(AdLogEntry(.warning, "event \(batch.events[index].id) was refused: \(sentence)"))
    }
    let waiting = state.withLock { state in
      state.isTelling = true
      return state.feed.finished()
    }
    for (index, ended) in waiting.enumerated() { ended(result.refused[index] == nil ? .acknowledged : .refused) }
    state.update { $0.isTelling = false }
  }

  private func tellAgain(_ outcome: EdgeConnection.Outcome, _ batch: EdgeBatch) {
    var random = SystemRandomNumberGenerator()
    let now = DeviceClock.monotonic
    guard case .answer(let answer) = outcome else {
      return state.withLock { $0.feed.failed(pause: nil, at: now, using: &random) }
    }
    let pause = answer.retryAfterMilliseconds
    state.withLock { state in
      switch answer.status {
      case Self.tooLargeStatus where batch.events.count > 1: state.feed.tooLarge()
      case Self.throttledStatus: state.feed.throttled(pause: pause, at: now, using: &random)
      default: state.feed.failed(pause: pause, at: now, using: &random)
      }
    }
  }
}
