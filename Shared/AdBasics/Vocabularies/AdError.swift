/// The public error numbers (rules E). They never change meaning; banner and interstitial share them.
public enum AdError: UInt8, CaseIterable, Error, Sendable {
  /// Nothing more specific.
  case unknown = 0
  /// The service could not be reached or failed.
  case serverFailure = 1
  /// Too many requests too quickly (D3).
  case loadingThrottled = 2
  /// No eligible ad now; not really an error: hide the banner, keep trying.
  case inventoryUnavailable = 3
  /// The app is not set up for ads (A3).
  case configurationError = 4
  /// A banner is visible and has no content (D4).
  case bannerVisibleWithoutContent = 5
  /// The app is not active: no content.
  case applicationInactive = 6
  /// The ad expired or was moved away.
  case adUnloaded = 7
  /// The creative's image, or what covers the app after a tap, could not be had.
  case assetLoadFailure = 8
  /// The response is malformed, not the answer to this request, or past its life.
  case adResponseValidateFailure = 9
  /// An asset is still loading: what covers the app after a tap did not come in time (D11).
  case adAssetLoadPending = 10

  package static let vocabulary = "ad_error"
}

extension AdError: Vocabulary {
  package var rule: String? { "E\(rawValue)" }

  package var meaning: String {
    switch self {
    case .unknown: "nothing more specific is known"
    case .serverFailure: "the service could not be reached, or failed"
    case .loadingThrottled: "there were too many requests too quickly"
    case .inventoryUnavailable: "there was no eligible ad"
    case .configurationError: "the app or the request is not set up for ads"
    case .bannerVisibleWithoutContent: "a banner was visible without content"
    case .applicationInactive: "the app was not active"
    case .adUnloaded: "the ad expired or was moved away"
    case .assetLoadFailure: "an image, or what covers the app, could not be had"
    case .adResponseValidateFailure: "the answer was malformed, not to this request, or past its life"
    case .adAssetLoadPending: "an asset is still loading: what covers the app did not come in time"
    }
  }
}
