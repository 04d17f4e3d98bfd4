package import AdCore

/// What requests are counted by.
package enum SelectionCountKey: Hashable, Sendable {
  /// A request of an app, by the dimensions of reports.
  case ofApp(MinuteCountKey)
  /// A request without its app's key: by the day of its decision, in days since 1970, and by reason alone, so that nothing
  /// that a stranger invents makes a row.
  case withoutAppKey(day: Int32, reason: DecisionReason)
}

/// What requests of apps are counted by per minute (M6).
package struct MinuteCountKey: Hashable, Sendable {
  /// The start of the minute in which the request arrived.
  package var minute: Timestamp
  package var app: AppID
  /// Nil, like country and device, where a request with a mistake does not tell it.
  package var placement: PlacementID?
  package var country: Country?
  package var device: Device?
  /// The current size; nil where the request's sizes did not resolve.
  package var size: AdSize?
  package var reason: DecisionReason
  package var isTest: Bool
  /// What was served; nil for a request that was not filled.
  package var campaign: CampaignID?
  package var ad: AdID?
  /// The error that a test request got although nothing had failed (A2); of other requests the reason says it.
  package var injectedError: AdError?

  package init(
    minute: Timestamp, app: AppID, placement: PlacementID?, country: Country?, device: Device?, reason: DecisionReason,
    isTest: Bool
  ) {
    self.minute = minute
    self.app = app
    self.placement = placement
    self.country = country
    self.device = device
    self.reason = reason
    self.isTest = isTest
  }

  /// The start of the minute of `moment`.
  package static func minute(of moment: Timestamp) -> Timestamp {
    let remainder = moment.milliseconds % 60_000
    return moment.advanced(byMilliseconds: remainder < 0 ? -remainder - 60_000 : -remainder)
  }
}

extension SelectionEffects {
  /// Adds one for each request: duplicates are none.
  func count(into counts: inout [SelectionCountKey: Int64]) {
    for decided in decisions { counts[decided.countKey, default: 0] += 1 }
  }
}

extension DecidedRequest {
  /// What it is counted by.
  package var countKey: SelectionCountKey {
    if decision.reason.isWithoutAppKey {
      return .withoutAppKey(day: Int32(clamping: id.timestamp.milliseconds / 86_400_000), reason: decision.reason)
    }
    var key = MinuteCountKey(
      minute: MinuteCountKey.minute(of: asked.arrival), app: asked.app, placement: asked.placement,
      country: asked.country, device: asked.device, reason: decision.reason, isTest: decision.isTest)
    key.size = decision.size
    key.campaign = serve?.terms.campaign
    key.ad = serve?.terms.ad
    if decision.reason == .testError, case .noAd(let error, _) = decision.outcome { key.injectedError = error }
    return .ofApp(key)
  }
}
