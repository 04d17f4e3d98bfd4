package import AdBasics

/// What a banner tells its app, in the order of the rules.
public enum BannerCallback: Hashable, Sendable {
  /// An ad is on its way: an app that would show a house ad now may hold it back (D1).
  case willLoad
  /// An ad is ready; this comes also while the banner is in no view hierarchy (D1).
  case didLoad
  /// No ad, and why: the app must hide the banner. It keeps trying (D2).
  case didFail(AdFailure)
  /// A covering action is over and the app's interface is back (D8).
  case actionDidFinish
}

/// What a banner's host is to do, in this order.
package enum BannerAction: Hashable, Sendable {
  /// Ask the network for an ad; the result comes back with the same number.
  case request(number: Int)
  /// Fetch the ad's images; whether they came is told with the same number.
  case fetchImages(AdContent, number: Int)
  /// Draw the ad's image of this size.
  case show(AdContent, size: AdSize)
  /// Draw nothing.
  case clear
  case tell(BannerCallback)
  /// Ask the app, and call `decide` with its answer (D7).
  case askShouldBegin(willLeaveApplication: Bool)
  /// Fetch what covers the app (D11); whether it came is told with the same number.
  case fetchCover(destination: String, number: Int)
  /// Cover the app with what was fetched (D11).
  case cover(destination: String)
  /// Give the app its interface back.
  case uncover
  case leaveApplication(destination: String)
  /// Tell the network.
  case report(AdReport)
  /// The app hid a banner this soon after it was shown (D12).
  case noteBriefDisplay(milliseconds: Int64)
}
