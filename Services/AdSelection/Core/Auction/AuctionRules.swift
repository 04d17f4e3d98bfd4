internal import AdCore

/// What auctions follow besides catalogue and budgets: the seed of their tie-breaks, and the click rates that ads are expected
/// to have. It rarely changes, so that decisions name it by a number.
package struct AuctionRules: Hashable, Sendable {
  package let seed: UInt64
  package let priorClicks: Int64
  package let priorImpressions: Int64

  package init(seed: UInt64, priorClicks: Int64, priorImpressions: Int64) {
    self.seed = seed
    self.priorClicks = priorClicks
    self.priorImpressions = priorImpressions
  }

  package init(seed: UInt64, clickRates: ClickRates) {
    self.init(seed: seed, priorClicks: clickRates.prior.clicks, priorImpressions: clickRates.prior.impressions)
  }

  /// The rates of ads that have no count of their own.
  package var clickRates: ClickRates {
    ClickRates(prior: ClickRateEstimate(priorClicks: priorClicks, priorImpressions: priorImpressions))
  }

  /// A hash of all of it: whoever follows the same rules has the same number.
  package var number: Int64 {
    var hash = SeededHash(seed: seed)
    hash.combine(UInt64(bitPattern: priorClicks))
    hash.combine(UInt64(bitPattern: priorImpressions))
    return Int64(bitPattern: hash.finalized())
  }
}
