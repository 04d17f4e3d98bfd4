import AdCore
import TestValues

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
    .sample(serve: 0, partition: 0, issuedAt: Timestamp(milliseconds: 0)) { terms in
      terms.serveID = ServeID(timestamp: terms.issuedAt, randomHigh: 0, randomLow: 0)
      terms.expiresAt = terms.issuedAt
      terms.developer = name(DeveloperID("sunny"))
      (terms.campaign, terms.ad) = (name(CampaignID("spring")), name(AdID("spring-1")))
      (terms.allotment, terms.budgetDay, terms.clientHash) = (0, 20_487, 0)
    }
  }
}
