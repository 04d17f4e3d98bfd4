package import AdCore

/// An ad with what an auction must know of it and its campaign.
package struct Candidate: Hashable, Comparable, Sendable {
  package let ad: Ad
  package let campaign: CampaignID
  package let advertiser: AdvertiserID
  package let kind: Campaign.Kind
  package let impressionPrice: Nanos
  package let clickPrice: Nanos
  package let currency: Currency
  package let flightStart: Timestamp
  package let flightEnd: Timestamp
  /// The ad or its campaign.
  package let isPaused: Bool
  package let targeting: Targeting
  /// What an impression is expected to bring, in millionths of a nano: the impression's price, and the click's price
  /// times the expected click rate (B1: a developer campaign has only the latter; a house campaign nothing).
  package let expectedValue: Int128

  package init(ad: Ad, campaign: Campaign, advertiser: Advertiser, clickRate: ClickRateEstimate) {
    self.ad = ad
    self.campaign = campaign.id
    self.advertiser = advertiser.id
    kind = campaign.kind
    impressionPrice = campaign.billedImpressionPrice
    clickPrice = campaign.billedClickPrice
    currency = advertiser.currency
    flightStart = campaign.flightStart
    flightEnd = campaign.flightEnd
    isPaused = ad.isPaused || campaign.isPaused
    targeting = campaign.targeting
    expectedValue =
      Int128(impressionPrice.value) * Int128(ClickRateEstimate.whole)
      + Int128(clickPrice.value) * Int128(clickRate.expectedPartsPerMillion)
  }

  var price: AdPrice { AdPrice(ad: ad.id, impression: impressionPrice, click: clickPrice) }

  package func isInFlight(at moment: Timestamp) -> Bool { flightStart <= moment && moment < flightEnd }

  /// Whether the two are worth the same to an auction.
  func ties(with other: Candidate) -> Bool {
    expectedValue == other.expectedValue && (kind == .house) == (other.kind == .house)
  }

  /// The order of an auction: paid before house, the higher value first; equals by id.
  package static func < (left: Candidate, right: Candidate) -> Bool {
    if (left.kind == .house) != (right.kind == .house) { return right.kind == .house }
    return left.expectedValue != right.expectedValue
      ? left.expectedValue > right.expectedValue : left.ad.id < right.ad.id
  }
}
