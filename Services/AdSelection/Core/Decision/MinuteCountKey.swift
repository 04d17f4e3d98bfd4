package import AdCore

/// What decisions are counted by per minute (M6).
package struct MinuteCountKey: Hashable, Sendable {
  /// The start of the minute in which the request arrived.
  package var minute: Timestamp
  package var app: AppID
  package var placement: PlacementID
  package var country: Country
  package var device: Device
  /// The current size; nil where the request's sizes did not resolve.
  package var size: AdSize?
  package var reason: DecisionReason
  package var isTest: Bool

  package init(
    minute: Timestamp, app: AppID, placement: PlacementID, country: Country, device: Device, size: AdSize?,
    reason: DecisionReason, isTest: Bool
  ) {
    self.minute = minute
    self.app = app
    self.placement = placement
    self.country = country
    self.device = device
    self.size = size
    self.reason = reason
    self.isTest = isTest
  }

  /// The start of the minute of `moment`.
  package static func minute(of moment: Timestamp) -> Timestamp {
    let remainder = moment.milliseconds % 60_000
    return moment.advanced(byMilliseconds: remainder < 0 ? -remainder - 60_000 : -remainder)
  }
}
