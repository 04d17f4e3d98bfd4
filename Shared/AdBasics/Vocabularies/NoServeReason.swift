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
  /// The app is offered less for the actions it stops, and this request was not to get a paid ad (A7).
  case paidAdsWithheld = 17

  package static let vocabulary = "no_serve_reason"
}

extension NoServeReason: Vocabulary {
  package var rule: String? {
    switch self {
    case .paidAdsSuspended, .paused: nil
    case .notYetStarted, .outsideFlight, .noAllotment: "B4"
    case .paidAdsWithheld: "A7"
    case .imageMissing: "S4"
    case .audienceUnder17: "A4"
    case .countryNotTargeted, .deviceNotTargeted, .sizeNotTargeted, .appCategoryNotTargeted, .segmentNotTargeted,
      .advertiserExcluded, .categoryExcluded, .keywordExcluded, .hostExcluded:
      "A6"
    }
  }

  package var meaning: String {
    switch self {
    case .paidAdsSuspended: "paid ads were suspended or stopped"
    case .paidAdsWithheld: "paid ads were withheld, since the app stops many actions of ads"
    case .paused: "the campaign or ad is paused"
    case .notYetStarted: "the flight has not begun"
    case .outsideFlight: "the flight is over"
    case .countryNotTargeted: "not for the country"
    case .deviceNotTargeted: "not for the device"
    case .imageMissing: "no image for a required size"
    case .sizeNotTargeted: "not for a required size"
    case .audienceUnder17: "not for users under 17"
    case .appCategoryNotTargeted: "not for the app's categories"
    case .segmentNotTargeted: "not for the request's segments"
    case .advertiserExcluded: "the app excludes the advertiser"
    case .categoryExcluded: "the app excludes a category of it"
    case .keywordExcluded: "the app excludes a keyword of it"
    case .hostExcluded: "the app excludes its destination's host"
    case .noAllotment: "no budget was left for it here and now"
    }
  }
}
