/// What an interstitial tells its app, in the order of the rules.
public enum InterstitialCallback: Hashable, Sendable {
  /// An ad is on its way (D1).
  case willLoad
  /// The ad is ready to be presented; not from within this very callback if it is to be modal (D6).
  case didLoad
  /// No ad, and why. A loaded ad's `didUnload` follows (D5).
  case didFail(AdFailure)
  /// The content is gone: the object is finished, a new one must be made (D5).
  case didUnload
  /// A covering action is over (D8).
  case actionDidFinish
}

/// Why an interstitial cannot be presented.
public enum PresentationError: Error, Hashable, Sendable {
  /// There is no loaded ad (D6).
  case notLoaded
  /// A modal ad was to be presented from within `didLoad` (D6).
  case withinDidLoad
  /// It is presented already.
  case alreadyPresented
  /// The hosting view does not have the size of S6.
  case invalidPageSize
}

/// What an interstitial's host is to do, in this order.
package enum InterstitialAction: Hashable, Sendable {
  /// Ask the network for an ad; the result comes back.
  case request
  /// Fetch the ad's images; whether they came is told.
  case fetchImages(AdContent)
  /// Cover the app with the ad and its close button.
  case presentModally(AdContent)
  /// Draw the ad in the app's view.
  case presentAsPage(AdContent)
  /// Take the ad off the screen or out of the app's view.
  case remove
  case tell(InterstitialCallback)
  /// Ask the app, and call `decide` with its answer (D7).
  case askShouldBegin(willLeaveApplication: Bool)
  /// Fetch what covers the app (D11); whether it came is told with the same number.
  case fetchCover(destination: String, number: Int)
  /// Cover the app with what was fetched (D11).
  case cover(destination: String)
  /// Give the app its interface back.
  case uncover
  case leaveApplication(destination: String)
  /// Tell the network; an interstitial makes one request, number 1.
  case report(AdReport)
}
