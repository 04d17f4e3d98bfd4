/// How likely an impression of an ad is to be clicked, from what was counted and a prior that stands for experience
/// where little or nothing was counted. Integers only: parts per million.
package struct ClickRateEstimate: Hashable, Sendable {
  /// One, in parts per million.
  package static let whole: Int64 = 1_000_000

  package let clicks: Int64
  package let impressions: Int64
  /// The expected click rate in parts per million, rounded down.
  package let expectedPartsPerMillion: Int64
  /// The upper end of the click rate's 99 % interval (Wilson's, one-sided) in parts per million, rounded up, at most a
  /// million: what is reserved for clicks.
  package let upperPartsPerMillion: Int64

  /// Counts below zero count as zero, and more clicks than impressions as so many impressions; the prior's impressions
  /// are at least 1. The defaults say 1 % with the weight of 200 impressions.
  package init(clicks: Int64 = 0, impressions: Int64 = 0, priorClicks: Int64 = 2, priorImpressions: Int64 = 200) {
    // Held below 2^40, so that no product further down can overflow.
    let limits: ClosedRange<Int64> = 0...(1 << 40)
    func held(_ count: Int64) -> Int64 { min(max(count, limits.lowerBound), limits.upperBound) }
    self.clicks = held(clicks) + held(priorClicks)
    self.impressions = max(held(impressions) + max(1, held(priorImpressions)), self.clicks)
    expectedPartsPerMillion = Int64(
      Int128(self.clicks) * Int128(ClickRateEstimate.whole) / Int128(self.impressions))
    upperPartsPerMillion = ClickRateEstimate.upperPartsPerMillion(
      expected: expectedPartsPerMillion, impressions: self.impressions)
  }

  /// Computed once: auctions ask for it all the time.
  private static func upperPartsPerMillion(expected: Int64, impressions: Int64) -> Int64 {
    // z = 2.3263 for 99 %; z² = 5.4119, here in millionths.
    let squared: Int128 = 5_411_900
    let count = Int128(impressions)
    let whole = Int128(ClickRateEstimate.whole)
    let rate = Int128(expected)
    let halfStep = squared / 2 / count
    let variance = squared * rate * (whole - rate) / whole / count
    let spread = (variance + halfStep * halfStep).squareRootRoundedUp
    let upper = (rate + 1 + halfStep + 1 + spread) * count * whole
    let divisor = count * whole + squared
    return Int64(min(whole, (upper + divisor - 1) / divisor))
  }
}

extension Int128 {
  /// The least integer whose square is not less than this; 0 for what is not positive.
  fileprivate var squareRootRoundedUp: Int128 {
    guard self > 0 else { return 0 }
    // Newton's method from above: it falls until it has arrived.
    var root = Int128(1) << Int128((128 - leadingZeroBitCount + 1) / 2)
    while true {
      let next = (root + self / root) / 2
      if next >= root { break }
      root = next
    }
    return root * root < self ? root + 1 : root
  }
}
