internal import AdCore
internal import AdEvents

/// Makes what is served out of a request and the ad chosen for it: the frozen terms (I2), the images of every required
/// size (S4), the action (D11) and the life (D5).
struct ServeBuilder {
  let app: RegisteredApp
  let requiredSizes: [AdSize]
  let currentSize: AdSize

  /// An ad of the catalogue; `reservation` is nil for a house ad.
  func serve(
    _ candidate: Candidate, reservation: Reservation?, for facts: Facts, in context: DecisionContext
  ) -> Serve {
    let life = lifetime(candidate.ad.lifetimeMilliseconds, context.windows)
    let deal = Deal(
      advertiser: candidate.advertiser, campaign: candidate.campaign, ad: candidate.ad.id,
      impressionPrice: candidate.impressionPrice, clickPrice: candidate.clickPrice, currency: candidate.currency)
    return Serve(
      terms: terms(deal, reservation: reservation, lifetimeMilliseconds: life, for: facts, in: context),
      images: images { candidate.ad.images[$0] }, action: candidate.ad.action, lifetimeMilliseconds: life,
      reservation: reservation, expectedValue: candidate.expectedValue)
  }

  /// A test ad (A2): nobody's money, never from a paid campaign.
  func serve(_ ad: TestAd, for facts: Facts, in context: DecisionContext) -> Serve {
    let life = lifetime(ad.lifetimeMilliseconds, context.windows)
    let deal = Deal(
      advertiser: ad.advertiser, campaign: ad.campaign, ad: ad.id, impressionPrice: .zero, clickPrice: .zero,
      currency: ad.currency)
    return Serve(
      terms: terms(deal, reservation: nil, lifetimeMilliseconds: life, for: facts, in: context),
      images: images { ad.image(for: $0) }, action: ad.action, lifetimeMilliseconds: life, reservation: nil)
  }

  private struct Deal {
    let advertiser: AdvertiserID
    let campaign: CampaignID
    let ad: AdID
    let impressionPrice: Nanos
    let clickPrice: Nanos
    let currency: Currency
  }

  /// The content's life within the bounds of D5.
  private func lifetime(_ milliseconds: Int64, _ windows: Windows) -> Int64 {
    let bounds = windows.contentLifeMilliseconds
    return min(max(milliseconds, bounds.lowerBound), bounds.upperBound)
  }

  private func images(_ url: (AdSize) -> String?) -> [ServedAd.Image] {
    requiredSizes.compactMap { size in url(size).map { ServedAd.Image(size: size, url: $0) } }
  }

  private func terms(
    _ deal: Deal, reservation: Reservation?, lifetimeMilliseconds: Int64, for facts: Facts, in context: DecisionContext
  ) -> ServedTerms {
    let request = facts.request
    let tokenLife = context.windows.tokenLifeMilliseconds(
      format: request.isInterstitial ? .interstitial : .banner, contentLifeMilliseconds: lifetimeMilliseconds)
    return ServedTerms(
      serveID: context.serveID, partition: facts.asked.partition, issuedAt: context.now,
      expiresAt: context.now.advanced(byMilliseconds: tokenLife), app: app.app.id, developer: app.app.developer,
      advertiser: deal.advertiser, campaign: deal.campaign, ad: deal.ad, placement: facts.placement,
      country: request.country, device: request.device, size: currentSize, impressionPrice: deal.impressionPrice,
      clickPrice: deal.clickPrice, currency: deal.currency, shareBasisPoints: app.app.shareBasisPoints,
      allotment: reservation?.allotment ?? 0, budgetDay: reservation?.budgetDay ?? 0,
      clientHash: facts.asked.clientHash, isTest: facts.isTest)
  }
}
