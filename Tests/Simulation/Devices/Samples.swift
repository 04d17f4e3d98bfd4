import AdCore

/// Terms that only what matters is changed in.
enum Samples {
  static let terms = makeTerms()

  private static func makeTerms() -> ServedTerms {
    guard let app = AppID("weather"), let developer = DeveloperID("sunny"), let advertiser = AdvertiserID("acme"),
      let campaign = CampaignID("spring"), let ad = AdID("spring-1"), let placement = PlacementID("home"),
      let country = Country("US"), let currency = Currency("USD")
    else { preconditionFailure("the sample names are valid") }
    return ServedTerms(
      serveID: ServeID(timestamp: Timestamp(milliseconds: 0), randomHigh: 0, randomLow: 0), partition: 0,
      issuedAt: Timestamp(milliseconds: 0), expiresAt: Timestamp(milliseconds: 0), app: app, developer: developer,
      advertiser: advertiser, campaign: campaign, ad: ad, placement: placement, country: country, device: .phone,
      size: .phoneBannerPortrait, impressionPrice: Nanos(10_000_000), clickPrice: Nanos(2_000_000_000),
      currency: currency, shareBasisPoints: 6_000, allotment: 1, budgetDay: 20_000, clientHash: 0, isTest: false)
  }
}
