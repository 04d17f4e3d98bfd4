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
  func beat(at moment: Timestamp) {
    let sum = records.values.reduce(0) { $0 + $1.version }
    // The last change by its place among all that was published.
    published.append(
      .heartbeat(records: Int64(records.count), versionSum: sum, at: moment, change: Int64(published.count)))
  }

  /// Changes a campaign as it stands now.
  func change(_ id: CampaignID, _ body: (inout Campaign) -> Void) {
    for case .campaign(var campaign) in records.values.map(\.record) where campaign.id == id {
      body(&campaign)
      put(.campaign(campaign))
    }
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

  /// A service does not begin before its catalogue is complete.
  init(_ catalog: SimulatedCatalog, sabotage: Sabotage?, now: Timestamp) {
    self.catalog = catalog
    self.sabotage = sabotage
    follow(now: now)
  }

  func follow(limit: Int = .max, now: Timestamp) {
    let end = min(catalog.published.count, limit == .max ? .max : position + limit)
    source.apply(catalog.published[position..<end].map { .message(read($0)) }, now: now)
    position = end
  }

  /// What a sabotaged reader makes of a message.
  private func read(_ message: CatalogMessage) -> CatalogMessage {
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
    default: return message
    }
  }
}

/// The catalogue that a world begins with: one advertiser, three campaigns of which one is soon out of budget, one app.
struct CatalogPlan {
  static let liveKey = "live-key"
  static let testKey = "test-key"

  let app: App
  let advertiser: Advertiser
  /// The first has plenty, the second next to nothing, the third pays for clicks only.
  let campaigns: [Campaign]
  let hasHouseAds: Bool

  /// - Parameter seed: of the targets and exclusions, which are no part of the world's other chances.
  init(seed: UInt64, using random: inout SeededRandom) {
    let terms = Samples.terms
    let excludes = seed % 5 == 0
    let isTargeted = seed % 3 == 0
    app = .sample(terms.app.text) {
      ($0.developer, $0.categories) = (terms.developer, [])
      if excludes { $0.exclusions = Exclusions(keywords: ["poker"]) }
      $0.shareBasisPoints = random.pick([6_000, 6_000, 3_333, 0, 10_000])
    }
    let impression = Int64(random.number(1...20_000_001))
    let click = Int64(random.number(1...2_000_000_003))
    let full = Int128(impression + click)
    let plenty = full * Int128(random.number(100...5_000))
    let hot = full * Int128(random.number(1...5)) + Int128(random.number(0...Int(impression)))
    advertiser = .sample(terms.advertiser.text) {
      $0.currency = terms.currency
      $0.accountFunding = random.chance(250) ? hot + full : plenty * 3
    }
    let isDaily = random.chance(300)
    let id = terms.advertiser
    func campaign(_ name: CampaignID, _ kind: Campaign.Kind, _ impression: Int64, _ total: Int128) -> Campaign {
      .sample(name.text, of: id) {
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
  }

  func publish(into catalog: SimulatedCatalog, fixture: Fixture) {
    catalog.put(.advertiser(advertiser))
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
    catalog.put(.app(app))
    catalog.put(.appKey(AppKey(app: app.id, build: .distribution, keyHash: fixture.liveKeyHash)))
    catalog.put(.appKey(AppKey(app: app.id, build: .developer, keyHash: fixture.testKeyHash)))
    catalog.put(.settings(NetworkSettings(countries: [Samples.terms.country])))
  }
}
