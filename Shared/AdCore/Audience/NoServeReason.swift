/// Why an ad was not served for a request: the first rule it breaks, in ``AdEligibility/order``. The numbers are public
/// and stored: one never changes meaning.
public enum NoServeReason: UInt8, CaseIterable, Sendable {
  /// Without the catalogue's heartbeat, or while the billing circuit breaker is open, no paid ads are served.
  case paidAdsSuspended = 1
  /// The campaign or the ad is paused.
  case paused = 2
  /// The campaign's flight has not begun (B4).
  case notYetStarted = 3
  /// The campaign's flight is over (B4).
  case outsideFlight = 4
  /// The campaign is not for the request's country (A6).
  case countryNotTargeted = 5
  /// The campaign is not for the request's device (A6).
  case deviceNotTargeted = 6
  /// The ad has no image for a required size (S4).
  case imageMissing = 7
  /// The campaign is not for a required size (A6).
  case sizeNotTargeted = 8
  /// The app is aimed at users under 17, and the campaign is not for them (A4).
  case audienceUnder17 = 9
  /// The campaign is not for apps of this one's categories (A6).
  case appCategoryNotTargeted = 10
  /// The campaign is not for the request's segments (A6).
  case segmentNotTargeted = 11
  /// The app excludes the advertiser (A6).
  case advertiserExcluded = 12
  /// The app excludes a category of the ad (A6).
  case categoryExcluded = 13
  /// The app excludes a keyword of the ad (A6).
  case keywordExcluded = 14
  /// The app excludes the host of the ad's destination (A6).
  case hostExcluded = 15
  /// No allotment can pay for it.
  case noAllotment = 16
}
