import AdCore
import AdEvents
import Synchronization
import TestValues
import Testing

@testable import AdSelectionCore

/// A small catalogue and a partition to which anything happens at random; and the rules asked ad by ad, with nothing
/// remembered, to compare with.
struct IndexWorld {
  /// Jobs of the catalogue that somebody will do some time.
  final class Jobs: Sendable {
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    func add(_ job: @escaping @Sendable () -> Void) { waiting.withLock { $0.append(job) } }
    var isEmpty: Bool { waiting.withLock { $0.isEmpty } }

    func run() {
      while let job = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
    }
  }

  static let advertisers = ["acme", "globex"].compactMap(AdvertiserID.init)
  static let seed: UInt64 = 5

  var random: SeededChance
  let jobs = Jobs()
  let source: CatalogSource
  var state = PartitionState()
  var now = Samples.now
  private var catalog = CatalogState()
  private var versions: [String: Int64] = [:]
  private var ordinals: [CampaignID: Int64] = [:]
  private var allotments: UInt64 = 0
  private let samples: Samples

  /// A few ads, published one after the other.
  init(seed: UInt64) throws {
    random = SeededChance(seed: seed)
    samples = try Samples.random(ads: random.number(4...16), using: &random)
    source = CatalogSource(recentMaximum: random.number(1...8)) { [jobs] in jobs.add($0) }
    for record in samples.records { put(record) }
  }

  /// So many ads, published at once. Only cheap ones have allotments, so that winners stand behind many ads. Of ten, so
  /// many are of the house.
  init(seed: UInt64, ads: Int, houseAdsInTen: Int = 0) throws {
    random = SeededChance(seed: seed)
    var samples = try Samples.random(ads: ads, using: &random)
    for number in samples.campaigns.indices where number % 10 < houseAdsInTen {
      samples.campaigns[number].kind = .house
    }
    self.samples = samples
    source = CatalogSource { [jobs] in jobs.add($0) }
    let messages = samples.records.map { CatalogMessage.record($0, version: 1) }
    for record in samples.records { versions[record.key] = 1 }
    for message in messages { _ = catalog.apply(message) }
    source.apply(messages.map { .message($0) }, now: now)
    beat()
    jobs.run()
    for campaign in samples.campaigns where campaign.impressionPrice.value < 3_000_000 { grant(to: campaign) }
  }

  private func chance(_ percent: Int, _ random: inout SeededChance) -> Bool { random.number(1...100) <= percent }

  // MARK: What happens

  /// Publishes a record, with the heartbeat that follows.
  mutating func put(_ record: CatalogRecord) {
    versions[record.key, default: 0] += 1
    take(.record(record, version: versions[record.key] ?? 1))
  }

  private mutating func delete(_ record: CatalogRecord) {
    versions[record.key, default: 0] += 1
    take(.deleted(key: record.key, version: versions[record.key] ?? 1))
  }

  private mutating func take(_ message: CatalogMessage) {
    _ = catalog.apply(message)
    source.apply([.message(message)], now: now)
    beat()
  }

  mutating func beat() {
    source.apply(
      [.message(.heartbeat(records: catalog.recordCount, versionSum: catalog.versionSum, at: now))], now: now)
  }

  /// One change, of whatever kind.
  mutating func step() throws {
    switch random.number(0...11) {
    case 0...2: try changeCampaign()
    case 3...4: try changeAd()
    case 5: changeApp()
    case 6...7: if let campaign = pick(samples.campaigns) { grant(to: campaign) }
    case 8:
      now = now.advanced(
        byMilliseconds: Int64(random.number(-20...60)) * Int64([1, 1_000, 3_600_000][random.number(0...2)]))
      beat()
    case 9: _ = state.allotments.close(now: now)
    case 10: jobs.run()
    default: beat()
    }
  }

  private mutating func changeCampaign() throws {
    guard var campaign = pick(samples.campaigns) else { return }
    campaign = catalog.records.campaigns[campaign.id] ?? campaign
    switch random.number(0...9) {
    case 0...3: campaign.isPaused.toggle()
    case 4: campaign.impressionPrice = Nanos(Int64(random.number(1...5)) * 1_000_000)
    case 5: campaign.flightStart = now.advanced(byMilliseconds: Int64(random.number(-2...2)) * 1_000)
    case 6: campaign.flightEnd = now.advanced(byMilliseconds: Int64(random.number(-2...30)) * 1_000)
    case 7: campaign.kind = [.brand, .developer, .house][random.number(0...2)]
    case 8: campaign.targeting.segments = chance(50, &random) ? [] : ["hikers"]
    default: return delete(.campaign(campaign))
    }
    put(.campaign(campaign))
  }

  private mutating func changeAd() throws {
    guard var ad = pick(samples.ads) else { return }
    ad = catalog.records.ads[ad.id] ?? ad
    switch random.number(0...6) {
    case 0: ad.isPaused.toggle()
    case 1: ad.images[.phoneBannerLandscape] = chance(50, &random) ? nil : "https://images.example/1.png"
    case 2: ad.categories = chance(50, &random) ? ["dating"] : []
    case 3: ad.action.destination = "https://a.b.globex.example/"
    case 4: ad.campaign = pick(samples.campaigns)?.id ?? ad.campaign
    case 5: ad.id = try #require(AdID("new-\(random.number(1...9))"))
    default: return delete(.ad(ad))
    }
    put(.ad(ad))
  }

  private mutating func changeApp() {
    guard var app = pick(samples.apps) else { return }
    app.isUnder17 = [nil, true, false][random.number(0...2)]
    app.categories = chance(50, &random) ? ["games"] : []
    if chance(30, &random) { app.exclusions.hosts = ["b.globex.example"] }
    put(.app(app))
  }

  private mutating func grant(to campaign: Campaign) {
    ordinals[campaign.id, default: 0] += 1
    allotments += 1
    _ = state.allotments.apply(
      AllotmentGrant(
        allotment: allotments, ordinal: ordinals[campaign.id] ?? 1, campaign: campaign.id,
        budgetDay: Samples.budgetDay, amount: Nanos(Int64(random.number(1...120)) * 10_000_000),
        serveUntil: now.advanced(byMilliseconds: Int64(random.number(-1...60)) * 1_000),
        clickRates: ClickRateBounds(others: Int64(random.number(0...100)) * 10_000)))
  }

  private mutating func pick<Value>(_ values: [Value]) -> Value? { values.randomElement(using: &random) }

  // MARK: A request

  struct Asked {
    let request: AdEligibility.Request
    let app: App
    let id: UUIDv7
    let paidAds: PaidAdsState
  }

  mutating func ask() throws -> Asked {
    let device: Device = chance(80, &random) ? .phone : .pad
    let identifiers = pick([["portrait"], ["portrait", "landscape"], ["mediumRectangle"]]) ?? []
    let app = try #require(pick(samples.apps))
    return Asked(
      request: AdEligibility.Request(
        country: try #require(pick(["US", "DE", "JP"].compactMap(Country.init))), device: device,
        requiredSizes: identifiers.compactMap { AdSize.resolve(identifier: $0, device: device) },
        segments: pick([[], ["hikers"], ["nobody", "sailors", "hikers"]]) ?? []),
      app: catalog.records.apps[app.id] ?? app,
      id: UUIDv7(timestamp: now, randomHigh: random.next(), randomLow: random.next()),
      paidAds: chance(10, &random) ? pick([.suspended, .stopped, .withheld]) ?? .served : .served)
  }

  /// What an auction over `snapshot` says.
  func run(_ asked: Asked, _ snapshot: CatalogSnapshot, _ state: inout PartitionState) -> (AdID?, Explanation) {
    let appClass = snapshot.apps[asked.app.id]?.appClass ?? AppClass(AdEligibility.AppProfile(asked.app))
    let result = Auction.run(
      AdQuery(asked.request, in: appClass), requestID: asked.id, state: &state,
      paidAds: asked.paidAds,
      context: DecisionContext(
        snapshot: snapshot, freshness: .complete, now: now, seed: IndexWorld.seed, serveIDRandom: (0, 0)))
    return (result.winner.map { snapshot.candidate(at: $0).ad.id }, result.explanation)
  }

  /// The catalogue indexed from nothing.
  func rebuilt() -> CatalogSnapshot {
    var indexed = IndexedCatalog(clickRates: ClickRates())
    for record in records { _ = indexed.apply(.message(.record(record, version: 1))) }
    var snapshot = CatalogSnapshot()
    snapshot.take(indexed.rebuilt(now: now))
    return snapshot
  }

  private var records: [CatalogRecord] {
    let known = catalog.records
    return known.advertisers.values.map(CatalogRecord.advertiser) + known.campaigns.values.map(CatalogRecord.campaign)
      + known.ads.values.map(CatalogRecord.ad) + known.apps.values.map(CatalogRecord.app)
  }

  // MARK: The rules, ad by ad

  /// What `AdEligibility` says of one ad, and then the allotments.
  private func reason(_ candidate: Candidate, _ asked: Asked) -> NoServeReason? {
    if let refusal = asked.paidAds.refusal, candidate.kind != .house { return refusal }
    guard let ad = catalog.records.ads[candidate.ad.id], let campaign = catalog.records.campaigns[ad.campaign] else {
      return nil
    }
    let reason = AdEligibility.reasonAgainst(ad, of: campaign, in: asked.app, request: asked.request, now: now)
    return reason ?? (canBeSold(candidate) ? nil : .noAllotment)
  }

  func canBeSold(_ candidate: Candidate) -> Bool {
    candidate.isHouse
      || state.allotments.canReserve(campaign: candidate.campaign, price: candidate.price, now: now)
  }

  /// The best ad, found by asking for each; the same tie-break.
  func naive(_ asked: Asked) -> (winner: Candidate?, counts: [NoServeReason: Int], candidates: Int) {
    let all = catalog.records.candidates(clickRates: ClickRates())
    let judged = all.map { (candidate: $0, reason: reason($0, asked)) }
    let sellable = judged.filter { $0.reason == nil }.map(\.candidate)
    let most = sellable.map(\.worth).max()
    let equals = sellable.filter { $0.worth == most }.sorted { $0.ad.id < $1.ad.id }
    var hash = SeededHash(seed: IndexWorld.seed)
    hash.combine(asked.id)
    let winner = equals.isEmpty ? nil : equals[Int(hash.finalized() % UInt64(equals.count))]
    // Nobody asks for the allotments of what is worth less than the winner.
    let counted = judged.filter {
      $0.reason != .noAllotment || winner == nil || $0.candidate.worth >= winner?.worth ?? $0.candidate.worth
    }
    return (winner, Dictionary(counted.compactMap { $0.reason.map { ($0, 1) } }, uniquingKeysWith: +), all.count)
  }
}
