import AdCore
import AdEvents
import AdSelectionCore
import TestValues

/// What the console keeps, and its topic: every message ever published, in order.
final class SimulatedCatalog {
  private(set) var records: [String: (record: CatalogRecord, version: Int64)] = [:]
  private(set) var published: [CatalogMessage] = []

  /// Changes a record: a version more.
  func put(_ record: CatalogRecord) {
    let version = (records[record.key]?.version ?? 0) + 1
    records[record.key] = (record, version)
    published.append(.record(record, version: version))
  }

  /// Says how many records there are, and the sum of their versions.
  func beat(at moment: Timestamp, stop: PaidAdsStop?) {
    let sum = records.values.reduce(0) { $0 + $1.version }
    // The last change by its place among all that was published.
    published.append(
      .heartbeat(records: Int64(records.count), versionSum: sum, at: moment, stop: stop, change: Int64(published.count))
    )
  }

  /// Changes a campaign as it stands now.
  func change(_ id: CampaignID, _ body: (inout Campaign) -> Void) {
    for case .campaign(var campaign) in records.values.map(\.record) where campaign.id == id {
      body(&campaign)
      put(.campaign(campaign))
    }
  }

  /// Measures an app anew: it is offered more, or less (A7).
  func change(_ standing: AppStanding) {
    guard case .standing(var changed)? = records[CatalogRecord.standing(standing).key]?.record else { return }
    changed.offerPartsPerMillion = changed.offerPartsPerMillion == 300_000 ? 800_000 : 300_000
    put(.standing(changed))
  }

  func change(_ id: AdvertiserID, _ body: (inout Advertiser) -> Void) {
    for case .advertiser(var advertiser) in records.values.map(\.record) where advertiser.id == id {
      body(&advertiser)
      put(.advertiser(advertiser))
    }
  }

  /// Every campaign as it ever was.
  var campaigns: [Campaign] {
    published.compactMap { if case .record(.campaign(let campaign), _) = $0 { campaign } else { nil } }
  }
}

/// One process that follows the catalogue, now and then.
final class CatalogReader {
  let source = CatalogSource()
  private let catalog: SimulatedCatalog
  private let sabotage: Sabotage?
  private var position = 0
  private(set) var heard = HeardBeats()

  /// A service does not begin before its catalogue is complete.
  init(_ catalog: SimulatedCatalog, sabotage: Sabotage?, now: Timestamp) {
    self.catalog = catalog
    self.sabotage = sabotage
    follow(now: now)
  }

  func follow(limit: Int = .max, now: Timestamp) {
    let end = min(catalog.published.count, limit == .max ? .max : position + limit)
    for message in catalog.published[position..<end] { heard.take(message, now: now) }
    source.apply(catalog.published[position..<end].map { .message(read($0)) }, now: now)
    position = end
  }

  /// What a sabotaged reader makes of a message.
  private func read(_ message: CatalogMessage) -> CatalogMessage {
    if case .heartbeat(let records, let sum, let moment, let stop, let change) = message {
      return .heartbeat(
        records: records, versionSum: sum,
        at: sabotage == .trustOldHeartbeat ? Timestamp(milliseconds: .max) : moment,
        stop: sabotage == .ignoreBreaker ? nil : stop, change: change)
    }
    guard case .record(let record, let version) = message else { return message }
    switch (sabotage, record) {
    case (.hideBest, .campaign(var campaign)) where campaign.id == Samples.hot:
      campaign.targeting.segments = ["nobody"]
      return .record(.campaign(campaign), version: version)
    case (.undervalue, .campaign(var campaign)) where campaign.id == Samples.hot:
      campaign.impressionPrice = Nanos(campaign.impressionPrice.value / 2)
      return .record(.campaign(campaign), version: version)
    case (.ignoreTargets, .campaign(var campaign)):
      campaign.targeting = Targeting(allowsUnder17: true)
      return .record(.campaign(campaign), version: version)
    case (.ignoreExclusions, .app(var app)):
      app.exclusions = Exclusions()
      return .record(.app(app), version: version)
    case (.ignoreStanding, .standing(var standing)):
      standing.offerPartsPerMillion = AppStanding.whole
      return .record(.standing(standing), version: version)
    case (.confuseApps, .app(var app)):
      if case .record(.app(let first), _)? = catalog.published.first(where: Self.isOfApp) {
        app.shareBasisPoints = first.shareBasisPoints
      }
      return .record(.app(app), version: version)
    default: return message
    }
  }

  private static func isOfApp(_ message: CatalogMessage) -> Bool {
    if case .record(.app, _) = message { true } else { false }
  }
}

/// What a process has heard of the console, as the audit understands it: each heartbeat is as old as it is, however late
/// it was read.
struct HeardBeats: Hashable {
  private var last: Int64?
  private var lastStop: Int64?

  fileprivate mutating func take(_ message: CatalogMessage, now: Timestamp) {
    guard case .heartbeat(_, _, let moment, let stop, _) = message else { return }
    let sent = min(moment, now).milliseconds
    last = max(last ?? sent, sent)
    if stop != nil { lastStop = max(lastStop ?? sent, sent) }
  }

  /// Why nothing may be sold; nil where it may.
  func complaint(at now: Timestamp) -> String? {
    if last.map({ now.milliseconds - $0 >= 10_000 }) ?? true { return "a paid ad without a heartbeat" }
    if let lastStop, now.milliseconds - lastStop < 3_000 { return "a paid ad while the breaker is open" }
    return nil
  }
}

/// The catalogue that a world begins with: three campaigns, of which one is soon out of budget, and one app; in half of the
/// worlds a second app of another developer, and a second advertiser with another currency.
struct CatalogPlan {
  static func key(of app: AppID, _ build: BuildKind) -> String { "\(build)-key-\(app)" }

  let apps: [App]
  let advertisers: [Advertiser]
  /// The first has plenty, the second next to nothing, the third pays for clicks only.
  let campaigns: [Campaign]
  let hasHouseAds: Bool
  /// What the first app is offered, for the actions that it stops: in some worlds less than everything (A7).
  let standing: AppStanding?

  /// - Parameter seed: of the targets and exclusions, which are no part of the world's other chances.
  init(seed: UInt64, using random: inout SeededRandom) {
    let terms = Samples.terms
    let excludes = seed % 5 == 0
    let isTargeted = seed % 3 == 0
    let isOfSeveral = seed % 2 == 0
    func app(_ id: AppID, of developer: DeveloperID, excludes: Bool) -> App {
      .sample(id.text) {
        ($0.developer, $0.categories) = (developer, [])
        if excludes { $0.exclusions = Exclusions(keywords: ["poker"]) }
        $0.shareBasisPoints = random.pick([6_000, 6_000, 3_333, 0, 10_000])
      }
    }
    let first = app(terms.app, of: terms.developer, excludes: excludes)
    apps = isOfSeveral ? [first, app(Samples.otherApp, of: Samples.otherDeveloper, excludes: !excludes)] : [first]
    let impression = Int64(random.number(1...20_000_001))
    let click = Int64(random.number(1...2_000_000_003))
    let full = Int128(impression + click)
    let plenty = full * Int128(random.number(100...5_000))
    let hot = full * Int128(random.number(1...5)) + Int128(random.number(0...Int(impression)))
    func advertiser(_ id: AdvertiserID, _ currency: Currency) -> Advertiser {
      .sample(id.text) {
        $0.currency = currency
        $0.accountFunding = random.chance(250) ? hot + full : plenty * 3
      }
    }
    let payer = advertiser(terms.advertiser, terms.currency)
    advertisers = isOfSeveral ? [payer, advertiser(Samples.otherAdvertiser, Samples.otherCurrency)] : [payer]
    let isDaily = random.chance(300)
    func campaign(_ name: CampaignID, _ kind: Campaign.Kind, _ impression: Int64, _ total: Int128) -> Campaign {
      let isOfOther = isOfSeveral && name != Samples.spring
      return .sample(name.text, of: isOfOther ? Samples.otherAdvertiser : terms.advertiser) {
        ($0.kind, $0.impressionPrice, $0.clickPrice) = (kind, Nanos(impression), Nanos(click))
        ($0.totalBudget, $0.dailyBudget) = (total, isDaily ? total / 2 + 1 : nil)
        $0.flightStart = Timestamp(milliseconds: VirtualTime.start - 86_400_000)
        $0.flightEnd = Timestamp(milliseconds: VirtualTime.start + 10 * 86_400_000)
        if isTargeted, name == Samples.hot { $0.targeting.segments = ["hikers"] }
        if isTargeted, name == Samples.promo { $0.targeting.devices = [.pad] }
      }
    }
    campaigns = [
      campaign(Samples.spring, .brand, impression, plenty), campaign(Samples.hot, .brand, impression + 1, hot),
      campaign(Samples.promo, .developer, 0, plenty),
    ]
    hasHouseAds = random.chance(200)
    standing =
      seed % 4 == 1 ? AppStanding(app: first.id, offerPartsPerMillion: 500_000, stopped: 50, tapped: 100) : nil
  }

  /// The app with this id, which is one of the world's.
  func app(_ id: AppID) -> App? { apps.first { $0.id == id } }

  /// The advertiser of a campaign.
  func advertiser(of campaign: Campaign) -> Advertiser? { advertisers.first { $0.id == campaign.advertiser } }

  func publish(into catalog: SimulatedCatalog, fixture: Fixture) {
    for advertiser in advertisers { catalog.put(.advertiser(advertiser)) }
    for campaign in campaigns {
      catalog.put(.campaign(campaign))
      catalog.put(.ad(Samples.ad(of: campaign.id)))
    }
    if hasHouseAds, var house = campaigns.first {
      house.id = Samples.house
      house.kind = .house
      catalog.put(.campaign(house))
      catalog.put(.ad(Samples.ad(of: house.id)))
    }
    for app in apps {
      catalog.put(.app(app))
      for key in fixture.appKeys where key.app == app.id { catalog.put(.appKey(key)) }
    }
    if let standing { catalog.put(.standing(standing)) }
    catalog.put(.settings(NetworkSettings(countries: [Samples.terms.country])))
  }
}
