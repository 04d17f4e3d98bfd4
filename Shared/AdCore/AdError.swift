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
  /// The creative's image could not be had.
  case assetLoadFailure = 8
  /// The response is malformed, not the answer to this request, or past its life.
  case adResponseValidateFailure = 9
  /// The asset is still loading.
  case adAssetLoadPending = 10
}
