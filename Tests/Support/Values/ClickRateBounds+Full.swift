package import AdCore

extension ClickRateBounds {
  /// Every ad is taken to be clicked each time: nothing can be clicked beyond what was reserved.
  package static let full = ClickRateBounds(others: ClickRateEstimate.whole)
}
