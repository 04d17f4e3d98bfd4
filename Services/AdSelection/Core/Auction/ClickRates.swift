package import AdCore

/// The click rates of all ads at one moment. An ad without a count of its own has the prior's.
package struct ClickRates: Hashable, Sendable {
  package var estimates: [AdID: ClickRateEstimate]
  package var prior: ClickRateEstimate

  package init(estimates: [AdID: ClickRateEstimate] = [:], prior: ClickRateEstimate = ClickRateEstimate()) {
    self.estimates = estimates
    self.prior = prior
  }

  package subscript(ad: AdID) -> ClickRateEstimate { estimates[ad] ?? prior }
}
