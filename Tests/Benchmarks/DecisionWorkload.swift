import AdCore
import AdEvents
import AdSelectionCore
import Crypto
import TestValues

/// A catalogue of so many ads with the targets that real ones have, allotments for all of it, and requests from all over.
struct DecisionWorkload {
  static let now = Timestamp(milliseconds: 1_790_000_000_000)
  private static let day: Int64 = 86_400_000
  private static let adsOfCampaign = 5
  private static let countries = ["US", "DE", "JP", "FR", "GB", "ES", "IT", "BR", "IN", "CA"].compactMap(Country.init)
  private static let categories = ["games", "news", "weather", "sports", "music"]
  private static let segments = (0..<20).map { "segment-\($0)" }
  private static let advertisers = (0..<50).compactMap { AdvertiserID("advertiser-\($0)") }
  private static let images: [AdSize: String] = [
    .phoneBannerPortrait: "https://images.example/1.png", .phoneBannerLandscape: "https://images.example/2.png",
    .padBannerPortrait: "https://images.example/3.png", .padBannerLandscape: "https://images.example/4.png",
  ]

  private(set) var campaigns: [Campaign] = []
  private(set) var ads: [Ad] = []
  private(set) var apps: [App] = []
  private var random = SeededChance(seed: 42)

  init(ads count: Int) {
    for number in 0..<20 { apps.append(Self.app(number)) }
    for number in 0..<(count / Self.adsOfCampaign) { addCampaign(number) }
  }

  private mutating func chance(_ percent: Int) -> Bool { random.number(1...100) <= percent }

  private mutating func some<Value>(_ most: Int, of values: [Value]) -> Set<Value> {
    Set((0..<random.number(1...most)).map { _ in values[random.number(0...values.count - 1)] })
  }

  /// One in ten is for children; one in four each excludes advertisers, a category, a host.
  private static func app(_ number: Int) -> App {
    var exclusions = Exclusions()
    switch number % 4 {
    case 1: exclusions.advertisers = [advertisers[number]]
    case 2: exclusions.categories = ["dating"]
    case 3: exclusions.hosts = ["site-\(number).example"]
    default: break
    }
    return App(
      id: known(AppID("app-\(number)")), developer: known(DeveloperID("developer")), name: "App",
      bundleID: "example.app.\(number)", isAgreementSigned: true, isUnder17: number % 10 == 0, areAdsEnabled: true,
      categories: [categories[number % categories.count]], exclusions: exclusions)
  }

  private mutating func addCampaign(_ number: Int) {
    let id = known(CampaignID("campaign-\(number)"))
    var targeting = Targeting(allowsUnder17: chance(40))
    if chance(60) { targeting.countries = some(4, of: Self.countries) }
    if chance(20) { targeting.devices = [chance(70) ? .phone : .pad] }
    if chance(20) { targeting.appCategories = some(2, of: Self.categories) }
    if chance(20) { targeting.segments = some(2, of: Self.segments) }
    campaigns.append(
      Campaign(
        id: id, advertiser: Self.advertisers[number % Self.advertisers.count], name: "Campaign",
        kind: number % 50 == 49 ? .house : number % 5 == 4 ? .developer : .brand,
        impressionPrice: Nanos(Int64(random.number(100...2_000)) * 10_000),
        clickPrice: Nanos(Int64(random.number(5...100)) * 10_000_000), totalBudget: 1_000_000_000_000_000,
        dailyBudget: nil, flightStart: Self.now.advanced(byMilliseconds: -Self.day),
        flightEnd: Self.now.advanced(byMilliseconds: Self.day * Int64(random.number(1...30))), isPaused: chance(5),
        targeting: targeting))
    for ad in 0..<Self.adsOfCampaign {
      var images = Self.images
      if chance(10) { images[.phoneBannerLandscape] = nil }
      ads.append(
        Ad(
          id: known(AdID("ad-\(number)-\(ad)")), campaign: id, images: images,
          action: AdAction(kind: .cover, destination: "https://www.site-\(number % 200).example/"),
          lifetimeMilliseconds: 600_000, categories: chance(10) ? ["dating"] : ["shopping"]))
    }
  }

  func source() -> CatalogSource {
    let currency = known(Currency("USD"))
    var records: [CatalogRecord] = [.settings(NetworkSettings(countries: Set(Self.countries)))]
    records += Self.advertisers.map {
      .advertiser(Advertiser(id: $0, name: "Acme", currency: currency, timeZone: "UTC", accountFunding: 1 << 60))
    }
    records += keyHashes.map { .appKey(AppKey(app: $0.key, build: .distribution, keyHash: $0.value)) }
    records += apps.map(CatalogRecord.app) + campaigns.map(CatalogRecord.campaign) + ads.map(CatalogRecord.ad)
    let source = CatalogSource()
    let count = Int64(records.count)
    source.apply(
      records.map { .message(.record($0, version: 1)) }
        + [.message(.heartbeat(records: count, versionSum: count, at: Self.now))], now: Self.now)
    return source
  }

  /// A piece of budget for every campaign, of a hundred of its ads: among many ads and among few, as many allotments are
  /// used up by so many decisions.
  var grants: [AllotmentGrant] {
    let rates = ClickRateBounds(others: 43_590)
    return campaigns.enumerated().map { number, campaign in
      let price = AdPrice(
        ad: ads[number * Self.adsOfCampaign].id, impression: campaign.billedImpressionPrice,
        click: campaign.billedClickPrice)
      return AllotmentGrant(
        allotment: UInt64(number + 1), ordinal: 1, campaign: campaign.id,
        budgetDay: Int32(Self.now.milliseconds / Self.day),
        amount: Nanos(max(1, 100 * (price.reserved(by: rates)?.total.value ?? 0))),
        serveUntil: Self.now.advanced(byMilliseconds: 3_600_000), clickRates: rates)
    }
  }

  /// A partition with all of these, or with no budget at all.
  func state(isSellable: Bool) -> PartitionState {
    var state = PartitionState()
    if isSellable { for grant in grants { _ = state.allotments.apply(grant) } }
    return state
  }

  /// An object, for a value as wide as an app's would cost the loop that is measured as much as a decision to hand on.
  final class Asked: Sendable {
    let app: App
    let query: AdQuery
    let request: AdRequest

    init(_ request: AdRequest, app: App, query: AdQuery) {
      (self.request, self.app, self.query) = (request, app, query)
    }
  }

  /// Requests that came at one moment, each of a client of its own: most from few countries, on phones; three in ten of a
  /// segment.
  func requests(_ count: Int, of snapshot: CatalogSnapshot, at moment: Timestamp = now) -> [Asked] {
    var random = SeededChance(seed: 7)
    return (0..<count).map { number in
      let app = apps[random.number(0...apps.count - 1)]
      let last = Self.countries.count - 1
      let isPhone = random.number(0...9) < 8
      let request = AdRequest.sample(UInt64(number), at: moment) {
        ($0.app, $0.appKey) = (app.id, Self.key(of: app.id))
        $0.country = Self.countries[min(random.number(0...last), random.number(0...last))]
        $0.device = isPhone ? .phone : .pad
        $0.segments = random.number(0...9) < 3 ? [Self.segments[random.number(0...19)]] : []
      }
      let judged = AdEligibility.Request(
        country: request.country, device: request.device,
        requiredSizes: isPhone
          ? [.phoneBannerPortrait, .phoneBannerLandscape] : [.padBannerPortrait, .padBannerLandscape],
        segments: request.segments)
      return Asked(
        request, app: app,
        query: AdQuery(judged, in: snapshot.apps[app.id]?.appClass ?? AppClass(AdEligibility.AppProfile(app))))
    }
  }

  private static func key(of app: AppID) -> String { "key-of-\(app)" }

  /// The SHA-256 of each app's key.
  var keyHashes: [AppID: [UInt8]] {
    Dictionary(uniqueKeysWithValues: apps.map { ($0.id, SHA256.hash(Self.key(of: $0.id).utf8)) })
  }
}
