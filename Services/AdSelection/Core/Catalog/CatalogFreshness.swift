package import AdCore
package import AdEvents

/// Whether the catalogue in memory may be served from. Ad selection answers only while its own records agree with the
/// heartbeat (with a grace, since a record and its heartbeat travel apart), and without a heartbeat, or while one says
/// that the billing circuit breaker is open, serves no paid ads.
///
/// Transitions: `incomplete` becomes `complete` at the first agreement with a heartbeat that is not old; `complete`
/// becomes `incomplete` when agreement has been missing for longer than the grace, `withoutHeartbeat` when the last
/// heartbeat is too old; both become `complete` again at the next agreement. In place of `complete` it is `stopped` from
/// a heartbeat with a stop until ``stopHoldMilliseconds`` after the last such one.
package struct CatalogFreshness: Hashable, Sendable {
  /// Its raw value is its name in metrics.
  package enum State: String, CaseIterable, Sendable {
    /// Not all records are here: no answers but an error.
    case incomplete
    /// Everything may be served.
    case complete
    /// Nobody tells whether anything has changed: house and test ads only.
    case withoutHeartbeat
    /// The billing circuit breaker is open: house and test ads only.
    case stopped
  }

  /// How long a stop holds after the last heartbeat that told it, in milliseconds. Several consoles may beat, and the one
  /// that says stop is obeyed.
  package static let stopHoldMilliseconds: Int64 = 3_000

  /// How long the own records may disagree with the heartbeat, in milliseconds.
  package var graceMilliseconds: Int64
  /// After how long without a heartbeat paid ads are suspended, in milliseconds.
  package var heartbeatMilliseconds: Int64

  private struct Heartbeat: Hashable, Sendable {
    var records: Int64
    var versionSum: Int64
    var at: Timestamp
  }

  /// When the last heartbeat with a stop was sent, and what it said.
  private struct Stop: Hashable, Sendable {
    var at: Timestamp
    var reason: PaidAdsStop
  }

  private var lastHeartbeat: Heartbeat?
  private var hasEverAgreed = false
  private var disagreesSince: Timestamp?
  private var lastStop: Stop?

  package init(graceMilliseconds: Int64 = 5_000, heartbeatMilliseconds: Int64 = 10_000) {
    self.graceMilliseconds = graceMilliseconds
    self.heartbeatMilliseconds = heartbeatMilliseconds
  }

  /// Takes a heartbeat sent at `at` and read at `now`. One read from a backlog counts with its own age, so a reader that
  /// is still catching up does not take an old agreement for a complete catalogue.
  package mutating func noteHeartbeat(
    records: Int64, versionSum: Int64, at: Timestamp, stop: PaidAdsStop? = nil, own catalog: CatalogState,
    now: Timestamp
  ) {
    let moment = min(at, now)
    if let stop, lastStop.map({ $0.at <= moment }) ?? true { lastStop = Stop(at: moment, reason: stop) }
    if let last = lastHeartbeat, last.at > moment { return }
    lastHeartbeat = Heartbeat(records: records, versionSum: versionSum, at: moment)
    noteCatalog(catalog, now: now)
  }

  /// To be told after records were applied: they may have brought the agreement that was missing.
  package mutating func noteCatalog(_ catalog: CatalogState, now: Timestamp) {
    guard let last = lastHeartbeat else { return }
    if catalog.matchesHeartbeat(records: last.records, versionSum: last.versionSum) {
      disagreesSince = nil
      if now.milliseconds(since: last.at) < heartbeatMilliseconds { hasEverAgreed = true }
    } else if disagreesSince == nil {
      disagreesSince = now
    }
  }

  /// When the last heartbeat was sent; nil before the first.
  package var heartbeatAt: Timestamp? { lastHeartbeat?.at }

  /// What may be served at `now`.
  package func state(at now: Timestamp) -> State {
    guard hasEverAgreed, let last = lastHeartbeat else { return .incomplete }
    if let since = disagreesSince, now.milliseconds(since: since) > graceMilliseconds { return .incomplete }
    if now.milliseconds(since: last.at) >= heartbeatMilliseconds { return .withoutHeartbeat }
    return stop(at: now) == nil ? .complete : .stopped
  }

  /// Why the billing circuit breaker is open at `now`; nil while it is closed.
  package func stop(at now: Timestamp) -> PaidAdsStop? {
    lastStop.flatMap { now.milliseconds(since: $0.at) < CatalogFreshness.stopHoldMilliseconds ? $0.reason : nil }
  }
}
