package import AdCore
package import Pipeline

/// Test ads (A2): for developer and ad-hoc builds, with a deliberately varied fill rate and occasional errors, so that an
/// app's error handling is exercised. What a client gets depends on seed, client and how many test requests it has made
/// before on that day (UTC), so each day has the sequence again.
package struct TestAds: Hashable, Sendable {
  package enum Outcome: Hashable, Sendable {
    case ad(TestAd)
    /// An empty answer, as when the inventory has run out.
    case unfilled
    /// An error that did not happen.
    case injected(AdError)
  }

  /// The errors that an app can be made to see: those that a server's answer can bring about.
  package static let injectedErrors: [AdError] = [
    .serverFailure, .loadingThrottled, .inventoryUnavailable, .assetLoadFailure, .unknown,
  ]

  package let seed: UInt64
  /// How many of 10,000 requests are filled, and how many get an injected error; where the two exceed 10,000, fewer
  /// errors.
  package let fillBasisPoints: UInt16
  package let errorBasisPoints: UInt16

  package init(seed: UInt64, fillBasisPoints: UInt16, errorBasisPoints: UInt16) {
    self.seed = seed
    self.fillBasisPoints = min(fillBasisPoints, 10_000)
    self.errorBasisPoints = min(errorBasisPoints, 10_000)
  }

  /// What the `ordinal`th test request of `client` gets.
  package func outcome(client: UInt64, ordinal: UInt64) -> Outcome {
    var hash = SeededHash(seed: seed)
    hash.combine(client)
    hash.combine(ordinal)
    let number = hash.finalized()
    let basisPoint = number % 10_000
    let choice = Int(number / 10_000 % 1_000_003)
    if basisPoint < UInt64(fillBasisPoints) { return .ad(TestAd.all[choice % TestAd.all.count]) }
    if basisPoint >= 10_000 - UInt64(errorBasisPoints) {
      return .injected(TestAds.injectedErrors[choice % TestAds.injectedErrors.count])
    }
    return .unfilled
  }
}

/// Counts the test requests of each client, of one day: what a new owner must read to go on does not grow with the days
/// that are kept. Clients are whatever somebody with a test key says, so all partitions of a process share a bound of
/// them. A client that is forgotten has the sequence again.
package struct TestSequence: Hashable, Sendable {
  private var day: Int64 = 0
  private var counts: RecentCounts<UInt64>

  /// - Parameter clients: how many all partitions count together.
  package init(clients: SharedBound = SelectionMemory().testClients) { counts = RecentCounts(sharing: clients) }

  /// The sequence after a restart: how many test requests each client had made on a day, as far as there is room.
  package init(
    restoring stored: [UInt64: UInt64], of day: Int64, clients: SharedBound = SelectionMemory().testClients
  ) {
    self.init(clients: clients)
    self.day = day
    for (client, count) in stored { guard counts.restore(client, count: count) else { break } }
  }

  /// How many clients are counted.
  var clientCount: Int { counts.thingCount }

  /// The day of a moment: since the start of 1970, UTC.
  package static func day(of moment: Timestamp) -> Int64 { moment.milliseconds / Windows.dayMilliseconds }

  /// The number of `client`'s next test request, from 0.
  package mutating func next(for client: UInt64, at now: Timestamp) -> UInt64 {
    let today = TestSequence.day(of: now)
    if day != today {
      counts.forgetAll()
      day = today
    }
    let ordinal = counts[client]
    counts.note(client, count: ordinal &+ 1)
    return ordinal
  }

  /// Forgets what is more than its part by now, because other partitions have come to share the bound.
  package mutating func keepToQuota() { counts.keepToQuota() }
}
