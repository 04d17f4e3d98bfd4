package import AdCore
internal import AdEvents

/// How much of an app's traffic is billed before a person looks at it (B8): of all of the network's partitions together.
/// Each partition takes its part, rounded up, so that what it decides follows from what it stores itself.
package struct TrafficCaps: Hashable, Sendable {
  /// Impressions of ads that were served in one hour.
  package var impressionsPerHour: Int64 = 3_600_000
  /// Clicks on one ad, of those served in one hour.
  package var clicksOfAdPerHour: Int64 = 36_000
  /// Clicks of one hour's ads, of 10,000 impressions of them.
  package var clickRateBasisPoints: Int64 = 5_000
  /// So many clicks of an hour are never too many for its impressions.
  package var clicksBeforeRate: Int64 = 5_000
  /// What the network pays developers, for one app and day, for ads that no budget can pay (B4): in nanos of each currency.
  package var unfundedPerDay = Nanos(100 * Nanos.perUnit)

  /// How far the impressions' watermark may lie behind a click, by arrival, before the click's rate says nothing: at the
  /// end of its log a tracker's lies up to 6 s behind its clock, and the rest is for what is on its way.
  package static let impressionLagMillisecondsMaximum: Int64 = 15_000

  package init() {}

  /// Whether the impressions that go with a click have come, so that one may be judged by the other. Where they lie behind,
  /// as after an outage, whose few clicks are read long before its many impressions, they have not.
  static func knowsImpressions(of click: AcceptedEvent, upTo watermark: Timestamp) -> Bool {
    click.arrival.milliseconds(since: watermark) <= impressionLagMillisecondsMaximum
  }

  /// Which cap an event is beyond that came after these; nil for none.
  ///
  /// - Parameter impressionsUpTo: the watermark of the impressions that are counted.
  func reason(
    for event: AcceptedEvent, after app: AppHourCount, ofAd: AppHourCount, impressionsUpTo: Timestamp,
    partitionCount: Int32
  ) -> HoldReason? {
    func part(_ cap: Int64) -> Int64 { cap.part(of: partitionCount) }
    switch event.kind {
    case .impression: return app.impressions >= part(impressionsPerHour) ? .impressions : nil
    case .click:
      if ofAd.clicks >= part(clicksOfAdPerHour) { return .clicksOfAd }
      guard Self.knowsImpressions(of: event, upTo: impressionsUpTo) else { return nil }
      let likely = Int128(app.impressions) * Int128(clickRateBasisPoints) / 10_000
      return Int128(app.clicks) >= max(Int128(part(clicksBeforeRate)), likely) ? .clickRate : nil
    }
  }
}

/// What an app's traffic is counted by: ads served in one hour, all of them or one.
package struct AppHour: Hashable, Sendable {
  /// Nothing is accepted of an ad that was served so many hours ago: a token is at most 26 h old when it arrives, and what
  /// is accepted is charged within a day. Were it not, an hour would begin anew, and less be held.
  package static let keptHours: Int32 = 72

  package var app: AppID
  /// In hours since 1970, of the serve: so no event's own time decides where it counts.
  package var hour: Int32
  /// Nil for all ads.
  package var ad: AdID?

  package init(app: AppID, hour: Int32, ad: AdID? = nil) {
    self.app = app
    self.hour = hour
    self.ad = ad
  }
}

/// Accepted live events, what is held included.
package struct AppHourCount: Hashable, Sendable {
  package var impressions: Int64
  package var clicks: Int64

  package init(impressions: Int64 = 0, clicks: Int64 = 0) {
    self.impressions = impressions
    self.clicks = clicks
  }
}
