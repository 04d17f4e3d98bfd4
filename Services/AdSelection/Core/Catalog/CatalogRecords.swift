package import AdCore

/// The records of the catalogue by kind, with who belongs to whom, so that it is known which ads a change concerns.
package struct CatalogRecords: Sendable {
  /// What a record is found by.
  enum Name: Hashable, Sendable {
    case advertiser(AdvertiserID)
    case campaign(CampaignID)
    case ad(AdID)
    case app(AppID)
    case appKey(String)
    case settings
    case standing(AppID)
    /// Decides nothing here.
    case developer

    init(_ record: CatalogRecord) {
      switch record {
      case .advertiser(let advertiser): self = .advertiser(advertiser.id)
      case .campaign(let campaign): self = .campaign(campaign.id)
      case .ad(let ad): self = .ad(ad.id)
      case .app(let app): self = .app(app.id)
      case .appKey: self = .appKey(record.key)
      case .settings: self = .settings
      case .standing(let standing): self = .standing(standing.app)
      case .developer: self = .developer
      }
    }
  }

  /// What a change of a record may change.
  package struct Concern: Hashable, Sendable {
    package var ads: Set<AdID> = []
    package var campaigns: Set<CampaignID> = []
  }

  package private(set) var advertisers: [AdvertiserID: Advertiser] = [:]
  package private(set) var campaigns: [CampaignID: Campaign] = [:]
  package private(set) var ads: [AdID: Ad] = [:]
  package private(set) var apps: [AppID: App] = [:]
  package private(set) var settings: NetworkSettings?
  private(set) var standings: [AppID: AppStanding] = [:]
  /// By the names of their records.
  private(set) var appKeys: [String: AppKey] = [:]
  /// Whether apps, keys, standings or settings have changed since ``takeAppChange()``.
  private var isAppChanged = false
  private var campaignsOfAdvertisers: [AdvertiserID: Set<CampaignID>] = [:]
  private var adsOfCampaigns: [CampaignID: Set<AdID>] = [:]

  /// Puts `record`, or nothing, in the place of what `name` names.
  mutating func replace(_ name: Name?, by record: CatalogRecord?) -> Concern {
    guard let name = record.map(Name.init) ?? name else { return Concern() }
    var concerned = Concern()
    switch name {
    case .advertiser(let id):
      advertisers[id] = if case .advertiser(let advertiser)? = record { advertiser } else { nil }
      return concern(of: campaignsOfAdvertisers[id] ?? [])
    case .campaign(let id):
      let new: Campaign? = if case .campaign(let campaign)? = record { campaign } else { nil }
      if let old = campaigns[id] { campaignsOfAdvertisers.remove(id, of: old.advertiser) }
      if let new { campaignsOfAdvertisers[new.advertiser, default: []].insert(id) }
      campaigns[id] = new
      return concern(of: [id])
    case .ad(let id):
      let new: Ad? = if case .ad(let ad)? = record { ad } else { nil }
      let old = ads[id]
      ads[id] = new
      if let old { adsOfCampaigns.remove(id, of: old.campaign) }
      if let new { adsOfCampaigns[new.campaign, default: []].insert(id) }
      return Concern(ads: [id], campaigns: Set([old?.campaign, new?.campaign].compactMap(\.self)))
    case .app(let id): apps[id] = if case .app(let app)? = record { app } else { nil }
    case .appKey(let key): appKeys[key] = if case .appKey(let appKey)? = record { appKey } else { nil }
    case .settings:
      let old = settings
      settings = if case .settings(let settings)? = record { settings } else { nil }
      concerned = concern(ofRatesSince: old)
    case .standing(let id): standings[id] = if case .standing(let standing)? = record { standing } else { nil }
    case .developer: return Concern()
    }
    isAppChanged = true
    return concerned
  }

  private func concern(of campaigns: Set<CampaignID>) -> Concern {
    Concern(ads: campaigns.reduce(into: []) { $0.formUnion(adsOfCampaigns[$1] ?? []) }, campaigns: campaigns)
  }

  /// The campaigns in currencies whose rate is another than in `old`.
  private func concern(ofRatesSince old: NetworkSettings?) -> Concern {
    let changed = advertisers.values.filter { rate(of: $0.currency, in: settings) != rate(of: $0.currency, in: old) }
    return concern(of: changed.reduce(into: []) { $0.formUnion(campaignsOfAdvertisers[$1.id] ?? []) })
  }

  private func rate(of currency: Currency, in settings: NetworkSettings?) -> Int64 {
    settings?.rate(of: currency) ?? CurrencyRate.whole
  }

  /// Whether apps, keys, standings or settings have changed since this was last asked.
  mutating func takeAppChange() -> Bool {
    defer { isAppChanged = false }
    return isAppChanged
  }

  /// The ad as an auction looks at it. One whose campaign or advertiser is not there, or whose price is no price, is no
  /// candidate.
  func candidate(_ id: AdID, clickRates: ClickRates) -> Candidate? {
    guard let ad = ads[id], let campaign = campaigns[ad.campaign], let advertiser = advertisers[campaign.advertiser],
      campaign.fullPrice != nil
    else { return nil }
    return Candidate(
      ad: ad, campaign: campaign, advertiser: advertiser, clickRate: clickRates[id],
      currencyRate: rate(of: advertiser.currency, in: settings))
  }

  /// All candidates in the order of an auction.
  func candidates(clickRates: ClickRates) -> [Candidate] {
    ads.keys.compactMap { candidate($0, clickRates: clickRates) }.sorted()
  }

  /// Whether a campaign has an ad that is not paused.
  func hasRunningAd(_ campaign: CampaignID) -> Bool {
    (adsOfCampaigns[campaign] ?? []).contains { !(ads[$0]?.isPaused ?? true) }
  }
}

extension Dictionary {
  fileprivate mutating func remove<Member>(_ member: Member, of key: Key) where Value == Set<Member> {
    self[key]?.remove(member)
    if self[key]?.isEmpty ?? false { self[key] = nil }
  }
}
