internal import AdCore
internal import AdEvents

/// Makes what is served out of a request and the ad chosen for it: the frozen terms (I2), the images of every required
/// size (S4), the action (D11) and the life (D5).
struct ServeBuilder {
  private let facts: Facts
  let app: App
  let requiredSizes: [AdSize]
  private let currentSize: AdSize
  private let context: DecisionContext

  init(_ facts: Facts, app: App, requiredSizes: [AdSize], currentSize: AdSize, context: DecisionContext) {
    self.facts = facts
    self.app = app
    self.requiredSizes = requiredSizes
    self.currentSize = currentSize
    self.context = context
  }

  /// An ad of the catalogue; `reservation` is nil for a house ad.
  func serve(_ candidate: Candidate, reservation: Reservation?) -> Serve {
    let life = lifetime(candidate.ad.lifetimeMilliseconds)
    let terms = terms(
      Owner(
        advertiser: candidate.advertiser, campaign: candidate.campaign, ad: candidate.ad.id,
        currency: candidate.currency),
      impressionPrice: candidate.impressionPrice, clickPrice: candidate.clickPrice, reservation: reservation,
      lifetimeMilliseconds: life, isTest: false)
    return Serve(
      terms: terms, images: images { candidate.ad.images[$0] }, action: candidate.ad.action,
      lifetimeMilliseconds: life, reservation: reservation, expectedValue: candidate.expectedValue)
  }

  /// A test ad (A2): nobody's money, never from a paid campaign.
  func serve(_ ad: TestAd) -> Serve {
    let life = lifetime(ad.lifetimeMilliseconds)
    let terms = terms(
      Owner(advertiser: ad.advertiser, campaign: ad.campaign, ad: ad.id, currency: ad.currency),
      impressionPrice: .zero, clickPrice: .zero, reservation: nil, lifetimeMilliseconds: life, isTest: true)
    return Serve(
      terms: terms, images: images { ad.image(for: $0) }, action: ad.action, lifetimeMilliseconds: life,
      reservation: nil)
  }

  private struct Owner {
    let advertiser: AdvertiserID
    let campaign: CampaignID
    let ad: AdID
    let currency: Currency
  }

  /// The content's life within the bounds of D5.
  private func lifetime(_ milliseconds: Int64) -> Int64 {
    let bounds = context.windows.contentLifeMilliseconds
    return min(max(milliseconds, bounds.lowerBound), bounds.upperBound)
  }

  private func images(_ url: (AdSize) -> String?) -> [ServedAd.Image] {
    requiredSizes.compactMap { size in url(size).map { ServedAd.Image(size: size, url: $0) } }
  }

  private func terms(
    _ owner: Owner, impressionPrice: Nanos, clickPrice: Nanos, reservation: Reservation?,
    lifetimeMilliseconds: Int64, isTest: Bool
  ) -> ServedTerms {
    let request = facts.request
    let tokenLife = context.windows.tokenLifeMilliseconds(
      format: request.isInterstitial ? .interstitial : .banner, contentLifeMilliseconds: lifetimeMilliseconds)
    return ServedTerms(
      serveID: ServeID(
        timestamp: context.now, randomHigh: context.serveIDRandom.high, randomLow: context.serveIDRandom.low),
      partition: facts.asked.partition, issuedAt: context.now,
      expiresAt: context.now.advanced(byMilliseconds: tokenLife), app: app.id, developer: app.developer,
      advertiser: owner.advertiser, campaign: owner.campaign, ad: owner.ad, placement: facts.placement,
      country: request.country, device: request.device, size: currentSize, impressionPrice: impressionPrice,
      clickPrice: clickPrice, currency: owner.currency, shareBasisPoints: app.shareBasisPoints,
      allotment: reservation?.allotment ?? 0, budgetDay: reservation?.budgetDay ?? 0,
      clientHash: facts.asked.clientHash, isTest: isTest)
  }
}
