internal import AdCore
internal import EdgeCore
internal import Synchronization
internal import Threads

/// The limits of how much comes of one address, client and app.
final class EdgeGate: Sendable {
  private let limiters: Mutex<[RatedParty: RateLimiter]>

  init(rates: [RatedParty: Rate]) { limiters = Mutex(rates.mapValues { RateLimiter($0) }) }

  func admit(_ address: NetworkAddress?) throws(EdgeRefusal) { try admit(.address, address?.household.hashValue ?? 0) }
  func admit(_ app: AppID) throws(EdgeRefusal) { try admit(.app, app.hashValue) }

  func admit(clientKey: String, of app: AppID) throws(EdgeRefusal) {
    var hasher = Hasher()
    hasher.combine(app)
    hasher.combine(clientKey)
    try admit(.client, hasher.finalize())
  }

  /// - Parameter hash: of Swift's own kind, which differs in each process: nobody can choose names that collide.
  private func admit(_ party: RatedParty, _ hash: Int) throws(EdgeRefusal) {
    let now = MonotonicClock.microseconds
    let wait = limiters.withLock { $0[party]?.admit(UInt64(bitPattern: Int64(hash)), now: now) }
    if let wait { throw .rateExceeded(of: party, retrySeconds: wait) }
  }
}
