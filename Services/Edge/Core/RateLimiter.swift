/// Whose requests are counted.
package enum RatedParty: String, CaseIterable, Hashable, Sendable {
  case address
  case client
  case app
}

/// So many requests a second, after a number that may come at once.
package struct Rate: Hashable, Sendable {
  /// 0: no limit.
  package var perSecond: Int
  /// How many seconds' worth may come at once.
  package static let burstSeconds = 10
  /// So many events of a batch cost as much as one request.
  package static let eventsOfRequest = 10

  package init(perSecond: Int) { self.perSecond = perSecond }

  /// What a batch costs, in requests.
  package static func cost(ofEvents count: Int) -> Int { max(1, (count + eventsOfRequest - 1) / eventsOfRequest) }
}

/// Counts the requests of many parties of one kind, each by a single moment: when its allowance is whole again (the
/// generic cell rate algorithm). Its memory is bounded: where nobody can be forgotten, newcomers share one allowance.
package struct RateLimiter: Sendable {
  /// Parties that are known at the same time.
  package static let partiesMaximum = 65_536
  /// How often at most all of them are looked through for those whose allowance is whole, in microseconds.
  private static let sweepMicroseconds: Int64 = 1_000_000

  private let rate: Rate
  private let partiesMaximum: Int
  /// When the allowance is whole again, in microseconds of the monotonic clock.
  private var wholeAt: [UInt64: Int64] = [:]
  private var othersWholeAt: Int64 = .min
  private var sweptAt: Int64 = .min

  package init(_ rate: Rate, partiesMaximum: Int = Self.partiesMaximum) {
    self.rate = rate
    self.partiesMaximum = partiesMaximum
  }

  var partyCount: Int { wholeAt.count }

  /// Counts a request of `party` (a hash) at `now`, in microseconds.
  ///
  /// - Parameter cost: as how many requests it counts, at most as many as may come at once.
  /// - Returns: nil where it is admitted; else after how many seconds it will be.
  package mutating func admit(_ party: UInt64, of cost: Int = 1, now: Int64) -> Int? {
    guard rate.perSecond > 0 else { return nil }
    let step = max(1, 1_000_000 / Int64(rate.perSecond))
    let tolerance = step * Int64(rate.perSecond) * Int64(Rate.burstSeconds)
    if wholeAt[party] == nil, wholeAt.count >= partiesMaximum { sweep(now: now) }
    let isOther = wholeAt[party] == nil && wholeAt.count >= partiesMaximum
    let known = isOther ? othersWholeAt : wholeAt[party] ?? .min
    let next = max(known, now) + step * Int64(cost)
    guard next - now <= tolerance else { return Int((next - now - tolerance) / 1_000_000) + 1 }
    if isOther { othersWholeAt = next } else { wholeAt[party] = next }
    return nil
  }

  private mutating func sweep(now: Int64) {
    guard sweptAt == .min || now - sweptAt >= Self.sweepMicroseconds else { return }
    sweptAt = now
    wholeAt = wholeAt.filter { $0.value > now }
  }
}
