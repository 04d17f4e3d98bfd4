internal import AdBasics
internal import AdEvents
internal import Synchronization

/// A transport whose events survive the process. Each is on disk before it is sent, and until the network has it; what
/// an earlier process left goes first. A bounded number of them is under way at a time, so that a dead network costs
/// disk, and no memory. What the disk does not take is handed on at once, and lives as long as the process.
///
/// What was sent and not acknowledged before a crash is sent again under its id: to the network it is one event.
final class DurableTransport: NetworkTransport {
  /// The most events that are handed on and not acknowledged.
  static let underWayMaximum = 100

  private struct Feed {
    /// Everything up to this number was handed on.
    var handedOn: Int64 = 0
    /// Handed on, and not ended.
    var underWay = 0
    /// Whether somebody hands on just now: one at a time, or the order would be lost.
    var isFeeding = false
    /// Whether there may be more than the feeder has seen, or more room.
    var hasNews = false
    /// Who waits for the network's word, by the event's number.
    var waiting: [Int64: @Sendable (EventEnd) -> Void] = [:]
    var isClosed = false
  }

  private let inner: any NetworkTransport
  private let store: ClientStore
  /// Nothing is logged under it: the app may flush when it is told something.
  private let feed = Mutex(Feed())

  init(_ inner: any NetworkTransport, store: ClientStore) {
    self.inner = inner
    self.store = store
    handOn()
  }

  var connection: AdConnectionState { inner.connection }

  func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void
  ) {
    inner.send(request, acknowledged: acknowledged, completion: completion)
  }

  func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool {
    // The number and who waits for it come together, or the word could be faster.
    let appended = store.append(event) { number in feed.withLock { $0.waiting[number] = ended } }
    switch appended {
    case .kept: handOn()
    case .refused: return false
    case .notOnDisk: return handOnUnkept(event, ended)
    }
    return true
  }

  /// The network may be there though the disk is full: the event goes past what waits, which the network puts up with.
  private func handOnUnkept(_ event: OutgoingEvent, _ ended: @escaping @Sendable (EventEnd) -> Void) -> Bool {
    let isTaken = inner.send(event) { [weak self, store] end in
      store.endUnkept(end)
      ended(end)
      // It may have had the last place, which what is kept waits for.
      self?.handOn()
    }
    if !isTaken { store.endUnkept(.refused) }
    return isTaken
  }

  /// What others that share the transport had filled may have room by now.
  func flush() {
    handOn()
    inner.flush()
  }

  func close(timeoutMilliseconds: Int) -> Bool {
    let end = DeviceClock.monotonic.advanced(byMilliseconds: Int64(timeoutMilliseconds))
    flush()
    store.waitUntilNoneKept(timeoutMilliseconds: timeoutMilliseconds)
    feed.withLock { $0.isClosed = true }
    // What the disk did not take may wait in a pause, which only this ends.
    let left = max(0, end.milliseconds(since: DeviceClock.monotonic))
    let isTold = inner.close(timeoutMilliseconds: Int(left))
    store.close()
    return isTold && store.eventCount == 0
  }

  /// Hands on what the disk has, as long as there is room under way. Whoever finds another at it leaves word.
  private func handOn() {
    let isMine = feed.withLock { feed in
      feed.hasNews = true
      if feed.isFeeding { return false }
      feed.isFeeding = true
      return true
    }
    guard isMine else { return }
    while let next = nextBatch() {
      for kept in next where !handOn(kept) { break }
    }
  }

  /// What is to be handed on now; nil, and nobody feeds any more, when there is nothing new, or no room.
  private func nextBatch() -> [ClientStore.Kept]? {
    let wanted = feed.withLock { feed -> (after: Int64, limit: Int)? in
      let room = DurableTransport.underWayMaximum - feed.underWay
      guard feed.hasNews, room > 0, !feed.isClosed else {
        feed.isFeeding = false
        return nil
      }
      // Whatever comes or ends from now on leaves word.
      feed.hasNews = false
      return (feed.handedOn, room)
    }
    guard let wanted else { return nil }
    if let batch = store.events(after: wanted.after, limit: wanted.limit) { return batch }
    // To try a disk again that gives nothing, because somebody flushes on being told so, would have no end.
    feed.withLock { $0.isFeeding = false }
    return nil
  }

  /// False when the transport takes nothing now: whoever leaves word meanwhile or later has it tried again.
  private func handOn(_ kept: ClientStore.Kept) -> Bool {
    feed.withLock { feed in
      feed.underWay += 1
      feed.handedOn = kept.number
    }
    let isTaken = inner.send(kept.event) { [weak self] end in self?.finished(kept.number, end) }
    guard !isTaken else { return true }
    feed.withLock { feed in
      feed.underWay -= 1
      feed.handedOn = kept.number - 1
    }
    return false
  }

  private func finished(_ number: Int64, _ end: EventEnd) {
    switch end {
    case .acknowledged: store.remove(number)
    case .refused: store.removeRefused(number)
    }
    let ended = feed.withLock { feed in
      feed.underWay -= 1
      feed.hasNews = true
      return feed.waiting.removeValue(forKey: number)
    }
    ended?(end)
    handOn()
  }
}
