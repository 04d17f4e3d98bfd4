import AdCore

/// Terms that only what matters is changed in, and the names in a world's catalogue.
enum Samples {
  static let terms = makeTerms()
  static let spring = terms.campaign
  static let hot = name(CampaignID("hot"))
  static let promo = name(CampaignID("promo"))
  static let house = name(CampaignID("house"))
  /// The database refuses what billing makes of this ad, for a reason nobody foresaw.
  static let cursedAd = name(AdID("cursed"))
  /// The same for the decisions of this placement.
  static let cursedPlacement = name(PlacementID("cursed"))
  static let placements = [terms.placement, name(PlacementID("list"))]

  static func ad(of campaign: CampaignID) -> Ad {
    Ad(
      id: name(AdID(campaign.text + "-1")), campaign: campaign,
      images: [
        .phoneBannerPortrait: "https://images.example/1.png", .phoneBannerLandscape: "https://images.example/2.png",
      ],
      action: AdAction(kind: .cover, destination: "https://shop.example/"), lifetimeMilliseconds: 600_000)
  }

  private static func name<Name>(_ name: Name?) -> Name {
    guard let name else { preconditionFailure("the sample names are valid") }
    return name
  }

  private static func makeTerms() -> ServedTerms {
    ServedTerms(
      serveID: ServeID(timestamp: Timestamp(milliseconds: 0), randomHigh: 0, randomLow: 0), partition: 0,
      issuedAt: Timestamp(milliseconds: 0), expiresAt: Timestamp(milliseconds: 0), app: name(AppID("weather")),
      developer: name(DeveloperID("sunny")), advertiser: name(AdvertiserID("acme")),
      campaign: name(CampaignID("spring")), ad: name(AdID("spring-1")), placement: name(PlacementID("home")),
      country: name(Country("US")), device: .phone, size: .phoneBannerPortrait, impressionPrice: Nanos(10_000_000),
      clickPrice: Nanos(2_000_000_000), currency: name(Currency("USD")), shareBasisPoints: 6_000, allotment: 0,
      budgetDay: 20_487, clientHash: 0, isTest: false)
  }
}
