package import AdCore

// One record of each kind as a catalogue holds it. Whoever adds a field to a record gives it a value here.

extension Advertiser {
  /// Acme, with a million dollars.
  package static func sample(
    _ id: String = "acme", change: (inout Advertiser) -> Void = { _ in }
  ) -> Advertiser {
    var advertiser = Advertiser(
      id: known(AdvertiserID(id)), name: "Acme", currency: known(Currency("USD")), timeZone: "UTC",
      accountFunding: 1_000_000_000_000_000)
    change(&advertiser)
    return advertiser
  }
}

extension Campaign {
  /// A brand's, for everybody, always: 10.00 per thousand and 2.00 per click, of a thousand dollars.
  package static func sample(
    _ id: String = "acme-summer", of advertiser: AdvertiserID = known(AdvertiserID("acme")),
    change: (inout Campaign) -> Void = { _ in }
  ) -> Campaign {
    var campaign = Campaign(
      id: known(CampaignID(id)), advertiser: advertiser, name: id, kind: .brand, impressionPrice: Nanos(10_000_000),
      clickPrice: Nanos(2_000_000_000), totalBudget: 1_000_000_000_000, dailyBudget: nil,
      flightStart: Timestamp(milliseconds: 0), flightEnd: Timestamp(milliseconds: 4_000_000_000_000), isPaused: false,
      targeting: Targeting())
    change(&campaign)
    return campaign
  }
}

extension Ad {
  /// A cover behind a phone's banner, good for ten minutes.
  package static func sample(
    _ id: String = "acme-summer-1", of campaign: CampaignID = known(CampaignID("acme-summer")),
    change: (inout Ad) -> Void = { _ in }
  ) -> Ad {
    var ad = Ad(
      id: known(AdID(id)), campaign: campaign,
      images: [
        .phoneBannerPortrait: "https://images.example/\(id)/320x50.png",
        .phoneBannerLandscape: "https://images.example/\(id)/480x32.png",
      ], action: AdAction(kind: .cover, destination: "https://shop.acme.example/summer"), lifetimeMilliseconds: 600_000)
    change(&ad)
    return ad
  }
}

extension App {
  /// One that is set up.
  package static func sample(
    _ id: String = "weather", change: (inout App) -> Void = { _ in }
  ) -> App {
    var app = App(
      id: known(AppID(id)), developer: known(DeveloperID("sunny-apps")), name: "Weather",
      bundleID: "com.example.weather", isAgreementSigned: true, isUnder17: false, areAdsEnabled: true,
      categories: ["weather"])
    change(&app)
    return app
  }
}
