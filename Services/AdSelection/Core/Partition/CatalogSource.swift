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

  private struct Reading {
    var catalog = CatalogState()
    var freshness: CatalogFreshness
    /// The snapshot does not show the catalogue yet.
    var isChanged = false
  }

  private struct Published {
    var snapshot: CatalogSnapshot
    var freshness: CatalogFreshness
    var wants: [AllotmentWant] = []
    /// The second for which `wants` was made; nil when it must be made anew.
    var wantsSecond: Int64?
    /// By time zone.
    var budgetDays: [String: BudgetDay] = [:]
  }

  /// An ad without counts of its own has the prior's click rate.
  private let clickRates: ClickRates
  private let reading: Mutex<Reading>
  private let published: Mutex<Published>

  package init(freshness: CatalogFreshness = CatalogFreshness(), clickRates: ClickRates = ClickRates()) {
    self.clickRates = clickRates
    reading = Mutex(Reading(freshness: freshness))
    let empty = CatalogSnapshot(
      catalog: CatalogState(), clickRates: clickRates, now: Timestamp(milliseconds: 0))
    published = Mutex(Published(snapshot: empty, freshness: freshness))
  }

  /// Takes what came on the topic, in its order, at `now`; nothing means that time passed.
  ///
  /// - Returns: how many items were refused, because the catalogue is full or a version is none.
  @discardableResult
  package func apply(_ items: [Item], now: Timestamp) -> Int {
    reading.withLock { reading in
      var refused = 0
      for item in items {
        let change: CatalogState.Change
        switch item {
        case .message(.heartbeat(let records, let versionSum, let at, let stop)):
          reading.freshness.noteHeartbeat(
            records: records, versionSum: versionSum, at: at, stop: stop, own: reading.catalog, now: now)
          change = .heartbeat
        case .message(let message): change = reading.catalog.apply(message)
        case .tombstone(let key): change = reading.catalog.applyTombstone(key: key)
        }
        switch change {
        case .changed: reading.isChanged = true
        case .refused: refused += 1
        case .known, .heartbeat: break
        }
      }
      if reading.isChanged { reading.freshness.noteCatalog(reading.catalog, now: now) }
      publish(&reading, now: now)
      return refused
    }
  }

  /// Makes the snapshot again where something changed. While the catalogue is incomplete nobody is served from it, so a
  /// reader that catches up does not build it again and again.
  private func publish(_ reading: inout Reading, now: Timestamp) {
    let freshness = reading.freshness
    let isCurrent = published.withLock { published in
      published.freshness = freshness
      return published.snapshot.index.isCurrent(at: now)
    }
    guard reading.isChanged || !isCurrent, freshness.state(at: now) != .incomplete else { return }
    let snapshot = CatalogSnapshot(catalog: reading.catalog, clickRates: clickRates, now: now)
    reading.isChanged = false
    published.withLock { published in
      published.snapshot = snapshot
      published.wantsSecond = nil
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

  package func view(at now: Timestamp) -> View {
    published.withLock { View(snapshot: $0.snapshot, freshness: $0.freshness.state(at: now)) }
  }

  /// The live campaigns for which allotments should be at hand at `now`. Made once a second for all partitions. An
  /// advertiser whose time zone is unknown is not served.
  package func wants(at now: Timestamp) -> [AllotmentWant] {
    published.withLock { published in
      let second = now.milliseconds / 1_000
      guard published.wantsSecond != second else { return published.wants }
      var days = published.budgetDays.filter { $0.value.contains(now) }
      published.wants = published.snapshot.allotmentWants(now: now) { advertiser in
        if days[advertiser.timeZone] == nil {
          days[advertiser.timeZone] = BudgetCalendar(timeZone: advertiser.timeZone)?.day(of: now)
        }
        return days[advertiser.timeZone]?.number
      }
      published.budgetDays = days
      published.wantsSecond = second
      return published.wants
    }
  }
}
