package import AdCore

/// The key of what is counted per minute (M6).
package struct RevenueMinute: Hashable, Sendable {
  /// Minutes since 1970, of the event time.
  package var minute: Int64
  package var kind: ChargeKind
  package var fate: ChargeFate
  package var app: AppID
  package var developer: DeveloperID
  package var advertiser: AdvertiserID
  package var campaign: CampaignID
  package var ad: AdID
  package var placement: PlacementID
  package var country: Country
  package var device: Device
  package var size: AdSize
  package var currency: Currency

  init(_ event: AcceptedEvent, fate: ChargeFate) {
    let terms = event.terms
    minute = event.eventTime.milliseconds.flooredMinute
    kind = event.kind
    self.fate = fate
    app = terms.app
    developer = terms.developer
    advertiser = terms.advertiser
    campaign = terms.campaign
    ad = terms.ad
    placement = terms.placement
    country = terms.country
    device = terms.device
    size = terms.size
    currency = terms.currency
  }
}

extension Int64 {
  /// Milliseconds as whole minutes, rounded down.
  fileprivate var flooredMinute: Int64 { (self - (self % 60_000 + 60_000) % 60_000) / 60_000 }
}

/// What is counted.
package struct RevenueSums: Hashable, Sendable {
  package var events: Int64 = 0
  /// Nanos; a batch cannot make them overflow, as with ``Journal/Sums``.
  package var gross: Int128 = 0
  package var developer: Int128 = 0
  package var network: Int128 = 0
}
