internal import AdCore
internal import EdgeCore
internal import Synchronization
internal import Threads

/// The limits of how much comes of one address, client and app.
final class EdgeGate: Sendable {
  private let limiters: Mutex<[RatedParty: RateLimiter]>

  init(rates: [RatedParty: Rate]) { limiters = Mutex(rates.mapValues { RateLimiter($0) }) }

  /// A request of this address has come.
  func admit(_ address: NetworkAddress?) throws(EdgeRefusal) { try admit(.address, Self.hash(address)) }

  /// The request costs more than the one that its address paid when it came.
  func admit(_ address: NetworkAddress?, further cost: Int) throws(EdgeRefusal) {
    guard cost > 0, let wait = wait(.address, Self.hash(address), cost) else { return }
    // Whoever comes again pays for his coming once more: at any rate a second is enough for that.
    throw .rateExceeded(of: .address, retrySeconds: wait + 1)
  }

  func admit(_ app: AppID, of cost: Int = 1) throws(EdgeRefusal) { try admit(.app, app.hashValue, cost) }

  func admit(clientKey: String, of app: AppID, cost: Int = 1) throws(EdgeRefusal) {
    var hasher = Hasher()
    hasher.combine(app)
    hasher.combine(clientKey)
    try admit(.client, hasher.finalize(), cost)
  }

  private static func hash(_ address: NetworkAddress?) -> Int { address?.household.hashValue ?? 0 }

  private func admit(_ party: RatedParty, _ hash: Int, _ cost: Int = 1) throws(EdgeRefusal) {
    if let wait = wait(party, hash, cost) { throw .rateExceeded(of: party, retrySeconds: wait) }
  }

  /// - Parameter hash: of Swift's own kind, which differs in each process: nobody can choose names that collide.
  private func wait(_ party: RatedParty, _ hash: Int, _ cost: Int) -> Int? {
    let now = MonotonicClock.microseconds
    return limiters.withLock { $0[party]?.admit(UInt64(bitPattern: Int64(hash)), of: cost, now: now) }
  }
}
