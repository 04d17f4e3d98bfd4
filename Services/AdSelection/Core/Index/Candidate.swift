package import AdCore

/// An ad with what an auction must know of it and its campaign. Many hold the same one.
package final class Candidate: Comparable, Sendable {
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
  /// What an impression is expected to bring, in millionths of a nano of the network's own unit: the impression's price, and
  /// the click's price times the expected click rate (B1: a developer campaign has only the latter; a house campaign
  /// nothing), at the rate of the advertiser's currency, rounded down. It orders ads, and no amount is booked by it.
  package let expectedValue: Int128

  /// - Parameter currencyRate: what a unit of the advertiser's currency is worth, as a ``CurrencyRate``.
  package init(ad: Ad, campaign: Campaign, advertiser: Advertiser, clickRate: ClickRateEstimate, currencyRate: Int64) {
    self.ad = ad
    isPaused = ad.isPaused || campaign.isPaused
    self.campaign = campaign.id
    self.advertiser = advertiser.id
    kind = campaign.kind
    impressionPrice = campaign.billedImpressionPrice
    clickPrice = campaign.billedClickPrice
    currency = advertiser.currency
    flightStart = campaign.flightStart
    flightEnd = campaign.flightEnd
    targeting = campaign.targeting
    let inItsCurrency =
      Int128(impressionPrice.value) * Int128(ClickRateEstimate.whole)
      + Int128(clickPrice.value) * Int128(clickRate.expectedPartsPerMillion)
    expectedValue = inItsCurrency * Int128(currencyRate) / Int128(CurrencyRate.whole)
  }

  package var price: AdPrice { AdPrice(ad: ad.id, impression: impressionPrice, click: clickPrice) }

  package var isHouse: Bool { kind == .house }

  var worth: AdWorth { AdWorth(isHouse: isHouse, expectedValue: expectedValue) }

  var subject: AdEligibility.Subject { AdEligibility.Subject(ad: ad, advertiser: advertiser, targeting: targeting) }

  /// Why it is not live at a moment, by the rules that ask for no request; nil if it is.
  func reasonAgainst(isPaused: Bool, now: Timestamp) -> NoServeReason? {
    AdEligibility.reasonAgainst(isPaused: isPaused, flight: (flightStart, flightEnd), now: now)
  }

  /// Whether the two differ in nothing but a pause: then a bit says all that is new.
  func differsByPauseAlone(from other: Candidate) -> Bool {
    var (ad, otherAd) = (ad, other.ad)
    (ad.isPaused, otherAd.isPaused) = (false, false)
    return ad == otherAd && targeting == other.targeting && campaign == other.campaign
      && advertiser == other.advertiser && worth == other.worth && kind == other.kind && currency == other.currency
      && (impressionPrice, clickPrice) == (other.impressionPrice, other.clickPrice)
      && (flightStart, flightEnd) == (other.flightStart, other.flightEnd)
  }

  package static func == (left: Candidate, right: Candidate) -> Bool {
    left === right || left.isPaused == right.isPaused && left.differsByPauseAlone(from: right)
  }

  /// The order of an auction: paid before house, the higher value first; equals by id.
  package static func < (left: Candidate, right: Candidate) -> Bool {
    let (ours, theirs) = (left.worth, right.worth)
    return ours == theirs ? left.ad.id < right.ad.id : ours > theirs
  }
}

/// What an ad is worth to an auction: more than any that comes after it.
struct AdWorth: Hashable, Comparable, Sendable {
  let isHouse: Bool
  let expectedValue: Int128

  static func < (left: AdWorth, right: AdWorth) -> Bool {
    left.isHouse != right.isHouse ? left.isHouse : left.expectedValue < right.expectedValue
  }
}
