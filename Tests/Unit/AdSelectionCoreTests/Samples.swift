import AdCore
import AdEvents
import TestValues
import Testing

@testable import AdSelectionCore

/// A small network that tests begin with and change.
struct Samples {
  static let now = Timestamp.sample
  static let day: Int64 = 86_400_000
  static let budgetDay: Int32 = 20_468
  static let liveKey = [UInt8](repeating: 1, count: 32)
  static let testKey = [UInt8](repeating: 2, count: 32)
  static let adHocKey = [UInt8](repeating: 3, count: 32)
  static let revokedKey = [UInt8](repeating: 4, count: 32)

  var advertisers: [Advertiser]
  var campaigns: [Campaign]
  var ads: [Ad]
  var apps: [App]
  var keys: [AppKey]
  var settings: NetworkSettings?
  var standings: [AppStanding] = []
  /// The campaigns that have no allotment.
  var withoutAllotment: Set<CampaignID> = []
  var clickRates = ClickRates()
  var freshness = CatalogFreshness.State.complete

  /// One app with its keys, one advertiser, one brand campaign with one ad of all banner sizes.
  init() throws {
    advertisers = [.sample()]
    campaigns = []
    ads = []
    apps = [.sample()]
    let app = apps[0].id
    keys = [
      AppKey(app: app, build: .distribution, keyHash: Samples.liveKey),
      AppKey(app: app, build: .developer, keyHash: Samples.testKey),
      AppKey(app: app, build: .adHoc, keyHash: Samples.adHocKey),
      AppKey(app: app, build: .distribution, keyHash: Samples.revokedKey, isRevoked: true),
    ]
    settings = NetworkSettings(countries: [try #require(Country("US")), try #require(Country("DE"))])
    try add(campaign: "summer", ad: "summer-1")
  }

  /// Adds a campaign with one ad; brand unless said otherwise.
  mutating func add(
    campaign: String, ad: String, kind: Campaign.Kind = .brand, impressionPrice: Int64 = 10_000_000,
    clickPrice: Int64 = 500_000_000
  ) throws {
    campaigns.append(
      .sample(campaign, of: advertisers[0].id) {
        ($0.kind, $0.impressionPrice, $0.clickPrice) = (kind, Nanos(impressionPrice), Nanos(clickPrice))
        $0.flightStart = Samples.now.advanced(byMilliseconds: -Samples.day)
        $0.flightEnd = Samples.now.advanced(byMilliseconds: Samples.day)
      })
    try add(ad: ad, to: campaign)
  }

  mutating func add(ad: String, to campaign: String) throws {
    ads.append(
      .sample(ad, of: try #require(CampaignID(campaign))) {
        $0.images[.padBannerPortrait] = "https://images.example/\(ad)/768x66.png"
        ($0.categories, $0.keywords) = (["shopping"], ["sun"])
      })
  }

  var records: [CatalogRecord] {
    var records: [CatalogRecord] = advertisers.map { .advertiser($0) } + campaigns.map { .campaign($0) }
    records += ads.map { .ad($0) } + apps.map { .app($0) } + keys.map { .appKey($0) }
    if let settings { records.append(.settings(settings)) }
    return records + standings.map { .standing($0) }
  }

  var catalog: CatalogState {
    var catalog = CatalogState()
    for record in records { _ = catalog.apply(.record(record, version: 1)) }
    return catalog
  }

  /// The catalogue indexed from nothing.
  func snapshot(at now: Timestamp = Samples.now) -> CatalogSnapshot {
    var indexed = IndexedCatalog(clickRates: clickRates)
    for record in records { _ = indexed.apply(.message(.record(record, version: 1))) }
    var snapshot = CatalogSnapshot()
    snapshot.take(indexed.rebuilt(now: now))
    return snapshot
  }

  /// A partition with an ample allotment for every paid campaign.
  var state: PartitionState {
    var state = PartitionState()
    for (index, campaign) in campaigns.enumerated()
    where campaign.kind != .house && !withoutAllotment.contains(campaign.id) {
      _ = state.allotments.apply(Samples.grant(UInt64(index + 1), campaign: campaign.id))
    }
    return state
  }

  func context(
    now: Timestamp = Samples.now, seed: UInt64 = 7, earlier: EarlierDecision? = nil
  ) -> DecisionContext {
    var context = DecisionContext(
      snapshot: snapshot(at: now), freshness: freshness, now: now, seed: seed, serveIDRandom: (high: 0xABC, low: 0xDEF))
    context.earlier = earlier
    return context
  }

  func decide(_ arrived: SampleRequest, now: Timestamp = Samples.now) -> Decision {
    var state = state
    return RequestDecision.decide(arrived, state: &state, context: context(now: now))
  }

  static func grant(
    _ allotment: UInt64, campaign: CampaignID, ordinal: Int64 = 1, amount: Int64 = 1_000_000_000_000,
    lasting milliseconds: Int64 = 3_600_000, rates: ClickRateBounds = ClickRateBounds(others: 43_590)
  ) -> AllotmentGrant {
    AllotmentGrant(
      allotment: allotment, ordinal: ordinal, campaign: campaign, budgetDay: budgetDay, amount: Nanos(amount),
      serveUntil: now.advanced(byMilliseconds: milliseconds), clickRates: rates)
  }

  /// A live request of a client of its own, in portrait and landscape on a phone in the United States.
  func request(
    _ number: UInt64 = 1, key: [UInt8] = Samples.liveKey, arrival: Timestamp = Samples.now,
    change: (inout AdRequest) -> Void = { _ in }
  ) throws -> SampleRequest {
    let request = AdRequest.sample(number, at: arrival) {
      ($0.appKey, $0.app, $0.deadlineMilliseconds) = ("key", apps[0].id, 2_000)
      change(&$0)
    }
    return SampleRequest(
      request: request, appKeyHash: key, clientHash: number, partition: 3, arrival: arrival)
  }
}

/// A request on its way into a decision.
struct SampleRequest {
  var request: AdRequest
  var appKeyHash: [UInt8]?
  var clientHash: UInt64
  var partition: Int32
  var arrival: Timestamp

  var incoming: IncomingRequest {
    IncomingRequest(
      content: .sound(request), appKeyHash: appKeyHash, clientHash: clientHash, payload: [], isJSON: false, mark: [])
  }

  var asked: AskedRequest { incoming.asked(partition: partition, arrival: arrival) }

  /// That it was decided, with `answer`.
  func decided(_ answer: Answer, isTest: Bool = false) -> EarlierDecision {
    EarlierDecision(
      key: RequestKey(requestID: asked.requestID, client: asked.clientHash, isTest: isTest), answer: answer)
  }
}

extension RequestDecision {
  static func decide(_ sample: SampleRequest, state: inout PartitionState, context: DecisionContext) -> Decision {
    decide(sample.incoming, asked: sample.asked, state: &state, context: context)
  }
}
