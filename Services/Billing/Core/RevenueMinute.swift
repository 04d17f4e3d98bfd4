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

  package init(_ event: AcceptedEvent, fate: ChargeFate) {
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
  /// Nanos; the events of a process cannot make them overflow, as with ``Journal/Sums``.
  package var gross: Int128 = 0
  package var developer: Int128 = 0
  package var network: Int128 = 0

  package init() {}

  /// Adds an event that cost this; nil where nobody pays.
  mutating func add(_ parts: RevenueShare.Parts?) {
    events += 1
    guard let parts else { return }
    gross += Int128(parts.developer.value) + Int128(parts.network.value)
    developer += Int128(parts.developer.value)
    network += Int128(parts.network.value)
  }
}

extension BillingEffects {
  /// Adds each event to its minute. Those that draw have no fate before the database gives them one, and counts them.
  func count(into counts: inout [RevenueMinute: RevenueSums]) {
    for charge in charges where charge.fate != .drawing {
      counts[RevenueMinute(charge.event, fate: charge.fate), default: RevenueSums()].add(charge.parts)
    }
  }
}
