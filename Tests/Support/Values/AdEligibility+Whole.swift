package import AdCore

extension AdEligibility {
  /// The first rule that keeps `ad` from being served; nil where none does. Allotments are not asked for here.
  package static func reasonAgainst(
    _ ad: Ad, of campaign: Campaign, in app: App, request: Request, now: Timestamp
  ) -> NoServeReason? {
    let flight = (start: campaign.flightStart, end: campaign.flightEnd)
    let subject = Subject(ad: ad, advertiser: campaign.advertiser, targeting: campaign.targeting)
    return reasonAgainst(isPaused: campaign.isPaused || ad.isPaused, flight: flight, now: now)
      ?? reasonAgainst(subject, for: request, in: AppProfile(app))
  }
}
