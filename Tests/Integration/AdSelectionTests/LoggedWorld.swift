import AdCore
import AdEvents
import AdSelectionCore
import Crypto
import Pipeline
import Postgres
import Records
import TestServices
import TestValues
import Testing

@testable import AdSelection
@testable import Operations
@testable import Runtime

/// Two partitions of ad selection on a real database, whose catalogue is written by its own module and told by its own
/// feed, while everything changes at random: so that decisions are logged as they are in life.
final class LoggedWorld {
  static let partitionCount: Int32 = 2
  /// Ads are of few prices, so that most winners are those of a tie-break.
  static let prices: [Int64] = [4_000_000, 5_000_000]

  let url: String
  let pool: PostgresPool
  let database: PostgresConnection
  let clock: MovingClock
  let start: Timestamp
  private(set) var decided = 0
  private let source: CatalogSource
  private let store: CatalogStore
  private var partitions: [StoredPartition<SelectionTables>]
  private var random: SeededChance
  private var feed = CatalogFeed()
  private var campaigns: [Campaign] = []
  private var ads: [Ad] = []
  private var ordinals: [CampaignID: Int64] = [:]
  private var sequences: [Int64] = [0, 0]
  private var allotments: UInt64 = 0
  private var stop: PaidAdsStop?

  init(seed: UInt64) async throws {
    url = try await TestDatabase.url()
    let configuration = try PostgresConfiguration(url, applicationName: "test")
    pool = PostgresPool(configuration, size: 1)
    var patient = configuration
    // What tests change by the views they write row by row.
    patient.statementTimeoutMilliseconds = 300_000
    database = try PostgresConnection(patient)
    clock = MovingClock(SystemClock().now)
    start = clock.now
    store = CatalogStore(pool)
    // Small, so that a base is built anew now and then.
    let source = CatalogSource(recentMaximum: 6)
    self.source = source
    random = SeededChance(seed: seed)
    let ring = try KeyRing(keys: [try KeyRing.Key(id: 1, secret: [UInt8](repeating: 5, count: 32))])
    let tables = SelectionTables(
      ring: ring, catalog: source, settings: SelectionSettings(seed: 77), clickRates: ClickRates(),
      metrics: SelectionMetrics(registry: MetricsRegistry(SelectionMetrics.declarations), clock: clock),
      retentionDays: 400)
    partitions = []
    try write(LoggedWorld.fixed)
    for number in 0..<12 { try write(makeCampaign(number)) }
    let service = try AdSelection(ring: ring)
    for number in 0..<Self.partitionCount {
      partitions.append(
        try StoredPartition(
          .init(
            number: number, of: Self.partitionCount, service: service, tables: tables, database: configuration,
            clock: clock)))
    }
  }

  deinit {
    database.close()
    pool.close()
  }

  // MARK: The catalogue

  private static var fixed: [CatalogRecord] {
    let app = App.sample()
    var strict = App.sample("school") { $0.isUnder17 = true }
    strict.bundleID = "com.example.school"
    strict.exclusions = Exclusions(keywords: ["poker"])
    let keys = [app, strict].map {
      CatalogRecord.appKey(AppKey(app: $0.id, build: .distribution, keyHash: SHA256.hash(Array("key-\($0.id)".utf8))))
    }
    return [
      .settings(NetworkSettings(countries: Set(["US", "DE"].compactMap(Country.init)))), .advertiser(.sample()),
      .developer(Developer(id: app.developer, name: "Sunny")), .app(app), .app(strict),
    ] + keys
  }

  private func makeCampaign(_ number: Int) -> [CatalogRecord] {
    let campaign = Campaign.sample("campaign-\(number)") {
      $0.kind = number == 0 ? .house : .brand
      $0.impressionPrice = number == 0 ? .zero : Nanos(Self.prices[number % 2])
      $0.clickPrice = number == 0 ? .zero : Nanos(2_000_000_000)
      $0.targeting.allowsUnder17 = number % 3 == 0
      if number % 4 == 1 { $0.targeting.segments = ["hikers"] }
      if number % 5 == 2 || number == 0 { $0.targeting.countries = [known(Country("US"))] }
    }
    campaigns.append(campaign)
    let own = (0..<3).map { ad in
      Ad.sample("ad-\(number)-\(ad)", of: campaign.id) { if ad == 1 { $0.keywords = ["poker"] } }
    }
    ads += own
    return [.campaign(campaign)] + own.map { .ad($0) }
  }

  private func write(_ records: [CatalogRecord]) throws {
    _ = try store.apply(CatalogFile(records)).get()
    try tell()
  }

  /// What the catalogue's publisher tells of it.
  private func tell() throws {
    let rows = try store.list(includesDeleted: true).filter { $0.changeNumber > feed.lastChange }
      .sorted { $0.changeNumber < $1.changeNumber }
    let outputs = feed.outputs(changed: rows, stop: stop, now: clock.now)
    source.apply(
      outputs.map { output in
        switch output {
        case .message(let message): .message(message)
        case .tombstone(let key): .tombstone(key: key)
        }
      }, now: clock.now)
  }

  /// What the console writes of an app: lowered, or whole again (A7).
  private func changeStanding() throws {
    let app: AppID = known(AppID(random.number(0...1) == 0 ? "school" : "weather"))
    let offer = Int64(random.number(0...10)) * 100_000
    let standing = AppStanding(app: app, offerPartsPerMillion: offer, stopped: 50, tapped: 100)
    try pool.withConnection { connection throws(PostgresError) in
      let isWhole = offer == AppStanding.whole
      _ = try connection.run(WriteStandings(lowered: isWhole ? [] : [standing], gone: isWhole ? [app] : []))
    }
    try tell()
  }

  private func changeCatalog() throws {
    let chosen = random.number(0...campaigns.count - 1)
    if random.number(0...5) == 0 { return try changeStanding() }
    switch random.number(0...5) {
    case 0: campaigns[chosen].isPaused.toggle()
    case 1 where campaigns[chosen].kind != .house:
      campaigns[chosen].impressionPrice = Nanos(Self.prices[random.number(0...1)])
    case 2: campaigns[chosen].targeting.segments = random.number(0...1) == 0 ? [] : ["hikers"]
    case 3:
      campaigns[chosen].flightEnd = clock.now.advanced(
        byMilliseconds: Int64([-5, 20, 60, 10_000, 10_000][random.number(0...4)]) * 1_000)
    case 4 where campaigns.count < 60: return try write(makeCampaign(campaigns.count))
    default:
      let ad = random.number(0...ads.count - 1)
      ads[ad].isPaused.toggle()
      return try write([.ad(ads[ad])])
    }
    try write([.campaign(campaigns[chosen])])
  }

  // MARK: What happens

  /// Goes on until so many requests were decided.
  func run(decisions: Int) throws {
    while decided < decisions {
      clock.advance(byMilliseconds: Int64(random.number(-2...400)))
      switch random.number(0...19) {
      case 0...1: try changeCatalog()
      case 2: stop = stop == nil && random.number(0...2) == 0 ? .lag : nil
      case 3: try partitions[random.number(0...1)].takeOver()
      case 4: for partition in partitions { try partition.tick() }
      default: break
      }
      if stop != nil { clock.advance(byMilliseconds: 500) }
      try tell()
      try ask()
    }
  }

  /// A batch of each partition: requests with grants among them.
  private func ask() throws {
    var records = partitions.map { _ in [StoredPartition<SelectionTables>.Incoming]() }
    for _ in 0..<random.number(1...40) {
      if random.number(0...5) == 0 {
        let partition = random.number(0...1)
        sequences[partition] += 1
        records[partition].append((1, .grant(grant()), .number(sequences[partition])))
      }
      var request = try request()
      // Of the app for users under 17 the session stands for the client: each has its own, or they would be throttled as one.
      request.sessionID = "session-\(decided)"
      let incoming = IncomingRequest(
        content: .sound(request), appKeyHash: SHA256.hash(Array("key-\(request.app)".utf8)),
        clientHash: random.next(), payload: [], isJSON: false, mark: [])
      let partition = Int(KafkaPartition.of(key: request.clientKey, count: Self.partitionCount))
      records[partition].append((0, .request(incoming), .unnumbered))
      decided += 1
    }
    for (partition, records) in zip(partitions, records) where !records.isEmpty { try partition.process(records) }
  }

  private func request() throws -> AdRequest {
    decided % 97 == 96
      // Too soon: without an auction.
      ? try AdRequest.sample(1, at: clock.now) { $0.requestID = try requestID() }.replied
      : try AdRequest.sample(UInt64(decided) + 100, at: clock.now) {
        $0.requestID = try requestID()
        $0.app = known(AppID(random.number(0...3) == 0 ? "school" : "weather"))
        $0.country = known(Country(["US", "DE", "FR"][random.number(0...20) / 10]))
        $0.segments = [[], ["hikers"], ["sailors", "hikers"]][random.number(0...2)]
        $0.requiredSizes = [[], ["portrait"], ["mediumRectangle"]][random.number(0...29) / 14]
        $0.currentSize = $0.requiredSizes.first ?? ""
      }.replied
  }

  private func requestID() throws -> UUIDv7 {
    UUIDv7(timestamp: clock.now, randomHigh: random.next(), randomLow: random.next())
  }

  private func grant() -> AllotmentGrant {
    let campaign = campaigns[random.number(1...campaigns.count - 1)].id
    ordinals[campaign, default: 0] += 1
    allotments += 1
    return AllotmentGrant(
      allotment: allotments, ordinal: ordinals[campaign] ?? 1, campaign: campaign, budgetDay: 20_000,
      amount: Nanos(Int64(random.number(1...60)) * 10_000_000),
      serveUntil: clock.now.advanced(byMilliseconds: Int64(random.number(-1...30)) * 1_000),
      clickRates: ClickRateBounds(others: Int64(random.number(1...100)) * 1_000))
  }
}

extension AdRequest {
  /// With where its answer goes.
  fileprivate var replied: AdRequest {
    var request = self
    (request.replyTopic, request.correlationID) = ("ads.responses.\(app)", [4, 2])
    return request
  }
}
