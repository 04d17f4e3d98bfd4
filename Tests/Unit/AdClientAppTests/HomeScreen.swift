import AdClient

// The example of docs/getting-started.md: a test compares the two, so that what is printed there compiles.
// begin
@MainActor
final class HomeScreen: BannerDelegate {
  let banner: Banner
  var isBannerVisible = false

  init(ads: AdNetworkClient) throws {
    banner = try Banner(client: ads, placement: "home")
    banner.delegate = self
  }

  func bannerDidLoad(_ banner: Banner) {
    isBannerVisible = true
    banner.visibleFractionChanged(to: 1)
  }

  func banner(_ banner: Banner, didFail failure: AdFailure) {
    print(failure)  // configurationError: A3: ads are not enabled for this app
    isBannerVisible = false
    banner.visibleFractionChanged(to: 0)
  }

  func banner(_ banner: Banner, perform event: BannerEvent) {
    if case .show(let ad, let size) = event { print("draw \(ad.images[size] ?? "")") }
  }
}
// end
