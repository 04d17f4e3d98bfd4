package import AdCore
internal import AdEvents

/// The key of a count per minute.
package struct ImpressionMinuteKey: Hashable, Sendable {
  /// Minutes since 1970, of the event time.
  package var minute: Int64
  package var kind: RecordedKind
  package var error: AdError?
  package var app: AppID
  /// Nil for a failure without an ad.
  package var served: Served?
  /// Nil for a failure without an ad: no token has taken its word, and names that nobody gave would have no end.
  package var placement: PlacementID?
  package var isTest: Bool

  package init(
    minute: Int64, kind: RecordedKind, error: AdError?, app: AppID, served: Served?, placement: PlacementID?,
    isTest: Bool
  ) {
    self.minute = minute
    self.kind = kind
    self.error = error
    self.app = app
    self.served = served
    self.placement = placement
    self.isTest = isTest
  }

  package struct Served: Hashable, Sendable {
    package var campaign: CampaignID
    package var ad: AdID
    package var country: Country
    package var size: AdSize
    package var device: Device

    package init(campaign: CampaignID, ad: AdID, country: Country, size: AdSize, device: Device) {
      self.campaign = campaign
      self.ad = ad
      self.country = country
      self.size = size
      self.device = device
    }
  }
}

extension ImpressionEffects {
  /// Adds one for each event to its minute.
  func count(into counts: inout [ImpressionMinuteKey: Int64]) {
    for impression in impressions {
      let accepted = impression.accepted
      counts[ImpressionMinuteKey(.viewed, of: accepted.terms, time: accepted.eventTime), default: 0] += 1
    }
    for delivery in deliveries {
      let key = ImpressionMinuteKey(
        delivery.kind, of: delivery.terms, time: delivery.eventTime, error: delivery.error)
      counts[key, default: 0] += 1
    }
    for row in failures { counts[ImpressionMinuteKey(row), default: 0] += 1 }
  }
}

extension ImpressionMinuteKey {
  init(_ kind: RecordedKind, of terms: ServedTerms, time: Timestamp, error: AdError? = nil) {
    self.init(
      minute: time.milliseconds / 60_000, kind: kind, error: error, app: terms.app,
      served: Served(
        campaign: terms.campaign, ad: terms.ad, country: terms.country, size: terms.size, device: terms.device),
      placement: terms.placement, isTest: terms.isTest)
  }

  init(_ row: ImpressionEffects.Failure) {
    self.init(
      minute: row.arrival.milliseconds / 60_000, kind: .failed, error: row.failure.error, app: row.failure.app,
      served: nil, placement: nil, isTest: row.isTest)
  }
}
