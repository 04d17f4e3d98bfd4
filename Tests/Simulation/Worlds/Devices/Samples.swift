import AdCore
import AdEvents
import TestValues

/// Terms that only what matters is changed in, and the names in a world's catalogue.
enum Samples {
  static let terms = makeTerms()
  static let spring = terms.campaign
  static let hot = known(CampaignID("hot"))
  static let promo = known(CampaignID("promo"))
  static let house = known(CampaignID("house"))
  /// The database refuses what billing makes of this ad, for a reason nobody foresaw.
  static let cursedAd = known(AdID("cursed"))
  /// The same for the decisions of this placement.
  static let cursedPlacement = known(PlacementID("cursed"))
  static let placements = [terms.placement, known(PlacementID("list"))]

  static let otherApp = known(AppID("tides"))
  static let otherDeveloper = known(DeveloperID("windy"))
  static let otherAdvertiser = known(AdvertiserID("other"))
  static let otherCurrency = known(Currency("JPY"))
  static let apps = [terms.app, otherApp]
  static let answerTopics = Set(apps.map { Topic.responses(for: $0) })

  static func ad(of campaign: CampaignID) -> Ad {
    .sample(campaign.text + "-1", of: campaign) { if campaign == hot { $0.keywords = ["poker"] } }
  }

  private static func makeTerms() -> ServedTerms {
    .sample(serve: 0, partition: 0, issuedAt: Timestamp(milliseconds: 0)) { terms in
      terms.serveID = ServeID(timestamp: terms.issuedAt, randomHigh: 0, randomLow: 0)
      terms.expiresAt = terms.issuedAt
      terms.developer = known(DeveloperID("sunny"))
      (terms.campaign, terms.ad) = (known(CampaignID("spring")), known(AdID("spring-1")))
      (terms.allotment, terms.budgetDay, terms.clientHash) = (0, 20_487, 0)
    }
  }
}
