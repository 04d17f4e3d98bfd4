/// How often something was shown and clicked, as far as it is remembered.
package struct ClickCount: Hashable, Sendable {
  package var clicks: Int64
  package var impressions: Int64

  package init(clicks: Int64 = 0, impressions: Int64 = 0) {
    self.clicks = clicks
    self.impressions = impressions
  }
}

/// What a partition has seen of a campaign's clicks, and of the whole network's.
package struct ClickCounts: Hashable, Sendable {
  package var network: ClickCount
  package var campaign: ClickCount
  /// Of the ads that were shown most.
  package var ads: [AdID: ClickCount]

  package init(
    network: ClickCount = ClickCount(), campaign: ClickCount = ClickCount(), ads: [AdID: ClickCount] = [:]
  ) {
    self.network = network
    self.campaign = campaign
    self.ads = ads
  }

  /// The upper bounds of the click rates: an ad's own where it was seen often enough, else its campaign's, else its
  /// network's, else the prior's.
  ///
  /// - Parameter prior: clicks and impressions that everything is taken to have had; what was seen as often is believed.
  package func bounds(prior: ClickCount) -> ClickRateBounds {
    func bound(_ count: ClickCount) -> Int64? {
      guard count.impressions >= max(1, prior.impressions) else { return nil }
      // Of what was counted alone: the estimate's own prior is one of the impressions.
      return ClickRateEstimate(
        clicks: count.clicks, impressions: count.impressions - 1, priorClicks: 0, priorImpressions: 1
      ).upperPartsPerMillion
    }
    let unknown = ClickRateEstimate(priorClicks: prior.clicks, priorImpressions: prior.impressions)
    return ClickRateBounds(
      others: bound(campaign) ?? bound(network) ?? unknown.upperPartsPerMillion, ads: ads.compactMapValues(bound))
  }
}
