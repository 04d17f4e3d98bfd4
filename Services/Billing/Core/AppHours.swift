package import AdCore
internal import AdEvents
package import Pipeline

/// What the partitions of one process of billing may remember together.
package struct BillingMemory: Sendable {
  /// Counts of apps' hours, about 14 MiB of them. What is not remembered is asked for in the tables.
  package static let appHoursMaximum = 1 << 16

  package let appHours: SharedBound

  package init(appHoursMaximum: Int = BillingMemory.appHoursMaximum) { appHours = SharedBound(appHoursMaximum) }
}

/// Counts of apps' hours, as a partition's tables have them: which are known.
package struct StoredAppHours: Hashable, Sendable {
  /// The most that are read when a partition is opened.
  package static let readMaximum = 4_096

  package var counts: [AppHour: AppHourCount]
  /// Of this hour, and of later ones, the tables have no others.
  package var completeFrom: Int32

  /// - Parameters:
  ///   - rows: from ``firstHour(now:)`` on, those of the latest hours first: all, or ``readMaximum`` and one more.
  package init(_ rows: [(key: AppHour, count: AppHourCount)] = [], now: Timestamp) {
    counts = Dictionary(rows.map { ($0.key, $0.count) }) { $1 }
    completeFrom = Self.firstHour(now: now)
    guard rows.count > Self.readMaximum, let earliest = rows.map(\.key.hour).min() else { return }
    completeFrom = earliest + 1
    counts = counts.filter { $0.key.hour > earliest }
  }

  /// The first hour of which counts are remembered: an ad lives for some minutes, so most that comes is of this hour's
  /// ads or of the last one's.
  package static func firstHour(now: Timestamp) -> Int32 { AppHour.hour(of: now) - AppHour.rememberedHours + 1 }
}

/// The counts of a partition's apps, as far as they are remembered: those of the latest hours, all of each. For earlier
/// ones the tables are asked, batch by batch: an hour is kept for three days, and an app can have clicks on as many ads
/// of each as there are (B8).
///
/// What is remembered only decides who is asked: it has no part in what is held.
struct AppHours {
  /// Of hours from ``completeFrom`` on: what is not there is not in the tables either.
  private var counts: [AppHour: AppHourCount]
  private var completeFrom: Int32
  private var latest: Int32
  /// Of earlier hours: what the batch has asked, and what it adds.
  private var asked: [AppHour: AppHourCount] = [:]
  private let quota: SharedBound.Quota

  init(_ stored: StoredAppHours, memory: BillingMemory) {
    counts = stored.counts
    completeFrom = stored.completeFrom
    latest = counts.keys.map(\.hour).max() ?? 0
    quota = memory.appHours.quota()
    keepToQuota()
  }

  /// What the tables must be asked before the event is counted: the counts that are not remembered.
  func unknown(of event: AcceptedEvent) -> [AppHour] {
    AppHour.hour(of: event.terms.serveID.timestamp) < completeFrom ? AppHour.keys(of: event) : []
  }

  /// A batch begins.
  ///
  /// - Parameter known: what the tables have of ``unknown(of:)``.
  mutating func begin(_ known: [AppHour: AppHourCount]) { asked = known }

  /// Counts an event, and says whether it is beyond a cap.
  mutating func count(
    _ event: AcceptedEvent, caps: TrafficCaps, impressionsUpTo: Timestamp, partitionCount: Int32,
    into added: inout [AppHour: AppHourCount]
  ) -> HoldReason? {
    let keys = AppHour.keys(of: event)
    let before = keys.map { ($0.hour < completeFrom ? asked : counts)[$0] ?? AppHourCount() }
    for (key, count) in zip(keys, before) {
      if key.hour < completeFrom {
        asked[key] = count.adding(event.kind)
      } else {
        counts[key] = count.adding(event.kind)
      }
      added[key] = (added[key] ?? AppHourCount()).adding(event.kind)
      latest = max(latest, key.hour)
    }
    return caps.reason(
      for: event, after: before.first ?? AppHourCount(), ofAd: before.dropFirst().first ?? AppHourCount(),
      impressionsUpTo: impressionsUpTo, partitionCount: partitionCount)
  }

  /// The batch ends. What is remembered changes only here: within the batch it is what was not asked for.
  mutating func end() {
    asked = [:]
    remember(from: latest - AppHour.rememberedHours + 1)
    keepToQuota()
  }

  private mutating func keepToQuota() {
    while !hold(), let earliest = counts.keys.map(\.hour).min() { remember(from: earliest + 1) }
  }

  /// Whether what is remembered is within the partition's part.
  private func hold() -> Bool {
    let more = counts.count - quota.held
    if more < 0 { quota.give(-more) }
    return quota.take(max(0, more))
  }

  private mutating func remember(from hour: Int32) {
    guard hour > completeFrom else { return }
    completeFrom = hour
    counts = counts.filter { $0.key.hour >= hour }
  }
}

extension AppHour {
  /// How many of the latest hours are remembered.
  static let rememberedHours: Int32 = 2

  static func hour(of moment: Timestamp) -> Int32 { Int32(clamping: moment.milliseconds / 3_600_000) }

  /// What an event counts in: in that of its app, first, and a click in that of its ad, for impressions of one ad have
  /// no cap.
  static func keys(of event: AcceptedEvent) -> [AppHour] {
    let app = AppHour(app: event.terms.app, hour: hour(of: event.terms.serveID.timestamp))
    return event.kind == .click ? [app, AppHour(app: app.app, hour: app.hour, ad: event.terms.ad)] : [app]
  }
}

extension AppHourCount {
  fileprivate func adding(_ kind: ChargeKind) -> AppHourCount {
    switch kind {
    case .impression: AppHourCount(impressions: impressions + 1, clicks: clicks)
    case .click: AppHourCount(impressions: impressions, clicks: clicks + 1)
    }
  }
}
