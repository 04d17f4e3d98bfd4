package import AdCore

/// The minute of an event and the ad that it is about: what both trackers count by. Each adds what it tells its events
/// apart by.
package struct AdMinute: Hashable, Sendable {
  /// Minutes since 1970, of the event time.
  package var minute: Int64
  package var app: AppID
  /// Nil for a failure without an ad: no token has taken its word, and names that nobody gave would have no end.
  package var served: Served?
  package var isTest: Bool

  package struct Served: Hashable, Sendable {
    package var campaign: CampaignID
    package var ad: AdID
    package var placement: PlacementID
    package var country: Country
    package var size: AdSize
    package var device: Device
  }

  /// Of an event of a served ad.
  package init(of terms: ServedTerms, time: Timestamp) {
    self.init(app: terms.app, time: time, isTest: terms.isTest)
    served = Served(
      campaign: terms.campaign, ad: terms.ad, placement: terms.placement, country: terms.country, size: terms.size,
      device: terms.device)
  }

  /// Of an event without an ad.
  package init(app: AppID, time: Timestamp, isTest: Bool) {
    minute = time.milliseconds / 60_000
    self.app = app
    self.isTest = isTest
  }
}
