package import AdCore
package import AdEvents
internal import Synchronization

/// The catalogue that all partitions of a process decide by: written by whoever follows its topic, read once a batch.
package final class CatalogSource: Sendable {
  /// What came on the topic.
  package enum Item: Sendable {
    case message(CatalogMessage)
    /// A deletion of long ago leaves the catalogue.
    case tombstone(key: String)
  }

  /// The catalogue at one moment.
  package struct View: Sendable {
    package let snapshot: CatalogSnapshot
    package let freshness: CatalogFreshness.State
  }

  /// What the thread that follows the topic has.
  private struct Reading {
    var catalog: IndexedCatalog
    var freshness: CatalogFreshness
    /// Nobody can have been served yet.
    var isFirst = true
    var now = Timestamp(milliseconds: 0)
  }

  /// What partitions take: for as long as it takes to copy some references.
  private struct Published {
    var snapshot = CatalogSnapshot()
    var freshness: CatalogFreshness
    var wants = AllotmentWants()
  }

  private let reading: Mutex<Reading>
  private let published: Mutex<Published>
  private let perform: @Sendable (_ job: @escaping @Sendable () -> Void) -> Void

  /// - Parameters:
  ///   - clickRates: an ad without counts of its own has the prior's.
  ///   - recentMaximum: the most ads of the recent index.
  ///   - perform: does what takes long, on a thread of its own, or at once.
  package init(
    freshness: CatalogFreshness = CatalogFreshness(), clickRates: ClickRates = ClickRates(),
    recentMaximum: Int = IndexedCatalog.recentMaximum,
    perform: @escaping @Sendable (_ job: @escaping @Sendable () -> Void) -> Void = { job in job() }
  ) {
    let catalog = IndexedCatalog(clickRates: clickRates, recentMaximum: recentMaximum)
    reading = Mutex(Reading(catalog: catalog, freshness: freshness))
    published = Mutex(Published(freshness: freshness))
    self.perform = perform
  }

  /// Takes what came on the topic, in its order, at `now`; nothing means that time passed.
  ///
  /// - Returns: how many items were refused, because the catalogue is full or a version is none.
  @discardableResult
  package func apply(_ items: [Item], now: Timestamp) -> Int {
    let (refused, build) = reading.withLock { reading in
      let refused = take(items, into: &reading, now: now)
      return (refused, publish(&reading))
    }
    if let build { start(build) }
    return refused
  }

  private func take(_ items: [Item], into reading: inout Reading, now: Timestamp) -> Int {
    reading.now = now
    var refused = 0
    var isChanged = false
    for item in items {
      if case .message(.heartbeat(let records, let versionSum, let at, let stop, let change)) = item {
        reading.freshness.noteHeartbeat(
          records: records, versionSum: versionSum, at: at, stop: stop, own: reading.catalog.catalog, now: now)
        reading.catalog.noteHeartbeat(records: records, versionSum: versionSum, change: change)
      }
      switch reading.catalog.apply(item) {
      case .changed: isChanged = true
      case .refused: refused += 1
      case .known, .heartbeat: break
      }
    }
    if isChanged { reading.freshness.noteCatalog(reading.catalog.catalog, now: now) }
    return refused
  }

  /// Shows partitions what has changed; says what is to be done for that besides. While the catalogue is incomplete
  /// nobody is served from it, so a reader that catches up need not show each of its steps.
  private func publish(_ reading: inout Reading) -> BaseBuild? {
    let (freshness, now) = (reading.freshness, reading.now)
    guard freshness.state(at: now) != .incomplete else {
      published.withLock { $0.freshness = freshness }
      return nil
    }
    let update = reading.isFirst ? reading.catalog.rebuilt(now: now) : reading.catalog.update(now: now)
    reading.isFirst = false
    publish(update, reading)
    return reading.catalog.startBuild()
  }

  private func publish(_ update: CatalogUpdate, _ reading: Reading) {
    let (freshness, wants, now) = (reading.freshness, reading.catalog.wants.wants, reading.now)
    // What is replaced may be much to let go of: not while partitions wait for the lock.
    _ = published.withLock { published in
      let replaced = published
      published.snapshot.take(update)
      published.snapshot.turn(to: now)
      published.freshness = freshness
      published.wants = wants
      return replaced
    }
  }

  private func start(_ build: BaseBuild) {
    perform { [self] in
      let base = build.run()
      let next = reading.withLock { reading in
        publish(reading.catalog.finishBuild(base, now: reading.now), reading)
        return reading.catalog.startBuild()
      }
      if let next { start(next) }
    }
  }

  /// What may be served at `now`.
  package func state(at now: Timestamp) -> CatalogFreshness.State {
    published.withLock { $0.freshness.state(at: now) }
  }

  /// Why the billing circuit breaker is open at `now`; nil while it is closed.
  package func stop(at now: Timestamp) -> PaidAdsStop? { published.withLock { $0.freshness.stop(at: now) } }

  /// How long before `now` the last heartbeat was sent, in milliseconds; nil before the first.
  package func heartbeatAgeMilliseconds(at now: Timestamp) -> Int64? {
    published.withLock { $0.freshness.heartbeatAt.map { now.milliseconds(since: $0) } }
  }

  /// The catalogue with the flights that are on at `now`.
  package func view(at now: Timestamp) -> View {
    published.withLock { published in
      published.snapshot.turn(to: now)
      return View(snapshot: published.snapshot, freshness: published.freshness.state(at: now))
    }
  }

  /// The live campaigns for which allotments should be at hand, as of when the topic was last read. An advertiser whose
  /// time zone is unknown is not served.
  package var wants: AllotmentWants { published.withLock { $0.wants } }
}
