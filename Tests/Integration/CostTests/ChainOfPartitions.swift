import AdCore
import AdEvents
import AdSelectionCore
import BillingCore
import ClickTrackingCore
import ImpressionTrackingCore
import Pipeline
import PipelineHost
import Postgres
import Records
import Runtime
import TestServices
import TestValues
import Testing

@testable import AdSelection
@testable import Billing
@testable import ClickTracking
@testable import ImpressionTracking

/// One partition of every service on one database: what one publishes is carried to whoever reads it.
final class ChainOfPartitions {
  /// Which partition it is, and how much happens in it.
  struct Plan {
    var partition: Int32 = 0
    var partitionCount: Int32 = 1
    var ring: KeyRing
    var batchAds = 500
    /// So long a batch of ads lasts: 2,000 ads a second.
    var batchMilliseconds: Int64 = 250
  }

  private static let tapEvery = 67

  private var plan: Plan

  private let clock: MovingClock
  private let catalog = CatalogSource()
  private let selection: StoredPartition<SelectionTables>
  private let impressions: StoredPartition<ImpressionTables>
  private let clicks: StoredPartition<ClickTables>
  private let billing: StoredPartition<BillingTables>
  private var requests = 0
  private(set) var taps = 0

  /// The only partition of its network.
  convenience init(_ database: PostgresConfiguration) throws {
    let ring = try KeyRing(keys: [try KeyRing.Key(id: 1, secret: [UInt8](repeating: 5, count: 32))])
    try self.init(database, Plan(ring: ring), clock: MovingClock(SystemClock().now))
  }

  init(_ database: PostgresConfiguration, _ plan: Plan, clock: MovingClock) throws {
    self.plan = plan
    self.clock = clock
    let ring = plan.ring
    let metrics = SelectionMetrics(
      registry: MetricsRegistry(SelectionMetrics.declarations), clock: clock)
    let budgets = BudgetCatalog(clock: clock)
    let connection = try PostgresConnection(database)
    defer { connection.close() }
    for record in ChainCatalog.records { try budgets.apply(.record(record, version: 1), in: connection) }

    func partition<Tables: ServiceTables>(_ service: Tables.Service, _ tables: Tables) throws -> StoredPartition<Tables>
    {
      try StoredPartition(
        StoredPartition.Plan(
          number: plan.partition, of: plan.partitionCount, service: service, tables: tables, database: database,
          clock: clock))
    }
    selection = try partition(
      AdSelection(ring: ring),
      SelectionTables(
        ring: ring, catalog: catalog, settings: SelectionSettings(), clickRates: ClickRates(), metrics: metrics,
        retentionDays: 400))
    impressions = try partition(
      ImpressionTrackingCore.ImpressionTracking(ring: ring, windows: Windows()), ImpressionTables(windows: Windows()))
    clicks = try partition(ClickTrackingCore.ClickTracking(ring: ring), ClickTables(windows: Windows()))
    billing = try partition(
      BillingService(ring: ring), BillingTables(settings: BillingSettings(), catalog: budgets, logger: .unread))
  }

  /// Shows so many ads, each with the SDK's three events and a tap on each 67th, until all are charged.
  ///
  /// - Returns: how many were shown.
  func show(_ ads: Int) throws -> Int {
    var shown = 0
    for _ in 0..<(ads / plan.batchAds) {
      clock.advance(byMilliseconds: plan.batchMilliseconds)
      shown += try showBatch()
    }
    try writeAllCounts()
    return shown
  }

  /// Shows a batch of ads, now.
  ///
  /// - Returns: how many were shown.
  func showBatch() throws -> Int {
    beat()
    try tickAll()
    let answers = try askForAds()
    try tell(answers)
    return answers.count
  }

  /// Whatever is counted is written.
  func writeAllCounts() throws {
    try selection.writeAllCounts()
    try impressions.writeAllCounts()
    try clicks.writeAllCounts()
    try billing.writeAllCounts()
  }

  /// Everything that was published has arrived.
  func confirm() {
    selection.confirm()
    impressions.confirm()
    clicks.confirm()
    billing.confirm()
  }

  /// Other processes take everything over.
  ///
  /// - Parameter partitionCount: how many partitions the network has from then on.
  func takeOver(partitionCount: Int32) throws {
    plan.partitionCount = partitionCount
    try selection.takeOver(partitionCount: partitionCount)
    try impressions.takeOver(partitionCount: partitionCount)
    try clicks.takeOver(partitionCount: partitionCount)
    try billing.takeOver(partitionCount: partitionCount)
  }

  /// The server's statistics have all that was read for it.
  func reportReads() throws {
    try selection.reportReads()
    try impressions.reportReads()
    try clicks.reportReads()
    try billing.reportReads()
  }

  private func beat() {
    let records = ChainCatalog.records
    let now = clock.now
    let count = Int64(records.count)
    catalog.apply(
      records.map { .message(.record($0, version: 1)) } + [
        .message(.heartbeat(records: count, versionSum: count, at: now))
      ], now: now)
  }

  private func tickAll() throws {
    try selection.tick()
    try carry(Topic.usage, from: selection, to: billing, input: 2)
    try impressions.tick()
    try clicks.tick()
    try billing.tick()
    try carry(Topic.budgets, from: billing, to: selection, input: 1)
  }

  /// Ads, each with the client that asked for it.
  private func askForAds() throws -> [(ad: ServedAd, client: [UInt8])] {
    var clients: [UUIDv7: [UInt8]] = [:]
    let asked = try (0..<plan.batchAds).map { _ in
      let number = nextRequest()
      let app = number % ChainCatalog.apps.count
      let request = AdRequest.sample(UInt64(number), at: clock.now) {
        ($0.appKey, $0.app) = (ChainCatalog.key(of: app), ChainCatalog.apps[app].id)
        $0.country = known(Country(ChainCatalog.countries[number % ChainCatalog.countries.count]))
        // As clients make theirs: nothing in them is alike, so that they are as long in the tables as in life.
        $0.requestID = UUIDv7(
          timestamp: clock.now, randomHigh: .random(in: 0...UInt64.max), randomLow: .random(in: 0...UInt64.max))
      }
      clients[request.requestID] = Array((request.clientID.isEmpty ? request.sessionID : request.clientID).utf8)
      let reply = CloudEventHeaders.reply(
        topic: Topic.responses(for: request.app), partition: 0, correlationID: [1, 2, 3, 4, 5, 6, 7, 8])
      return try selection.incoming(0, request.encoded(), headers(.adRequested, request.requestID) + reply)
    }
    try selection.process(asked)
    return try selection.published.take("ads.responses.").compactMap { message in
      var headers = RecordHeaders()
      for header in message.headers { headers.add(header) }
      let answer = try (message.value ?? []).withUnsafeBytes {
        try AdResponse.decode(value: $0, headers: headers).get()
      }
      guard case .ad(let ad) = answer.outcome, let client = clients[answer.requestID] else { return nil }
      return (ad, client)
    }
  }

  /// The number of the next request whose client belongs to this partition.
  private func nextRequest() -> Int {
    defer { requests += 1 }
    while plan.partitionCount > 1,
      KafkaPartition.of(key: AdRequest.sample(UInt64(requests)).clientID, count: plan.partitionCount) != plan.partition
    {
      requests += 1
    }
    return requests
  }

  private func tell(_ ads: [(ad: ServedAd, client: [UInt8])]) throws {
    let kinds: [(ImpressionEvent.Kind, EventType, Int64)] = [
      (.rendered, .impressionRendered, 0), (.viewed, .impressionViewed, 1_000), (.unloaded, .impressionUnloaded, 2_000),
    ]
    let identity = EventIdentity(idHash: 0, time: nil)
    var events: [StoredPartition<ImpressionTables>.Incoming] = []
    var tapped: [StoredPartition<ClickTables>.Incoming] = []
    for (number, (ad, client)) in ads.enumerated() {
      for (index, (kind, type, age)) in kinds.enumerated() {
        let event = ImpressionEvent(
          kind: kind, subject: .serve(token: ad.token), age: .milliseconds(age), error: nil, identity: identity)
        events.append(try impressions.incoming(0, key: client, event.encoded(), headers(type, eventID(ad, index))))
      }
      guard number % Self.tapEvery == 0 else { continue }
      let tap = ClickEvent(
        kind: .click, token: ad.token, age: .milliseconds(1_200), actionMilliseconds: 2_000, leftApplication: false,
        identity: identity)
      tapped.append(try clicks.incoming(0, key: client, tap.encoded(), headers(.clickTapped, eventID(ad, kinds.count))))
    }
    try impressions.process(events)
    let accepted = impressions.published.take(Topic.acceptedImpressions.name)
    try clicks.take(accepted, input: 1)
    try billing.take(accepted, input: 0)
    try clicks.process(tapped)
    taps += tapped.count
    try carry(Topic.acceptedClicks, from: clicks, to: billing, input: 1)
  }

  private func carry<From, To>(
    _ topic: Topic, from: StoredPartition<From>, to: StoredPartition<To>, input: Int
  ) throws {
    try to.take(from.published.take(topic.name), input: input)
  }

  private func eventID(_ ad: ServedAd, _ index: Int) -> UUIDv7 {
    UUIDv7(timestamp: clock.now, randomHigh: UInt64(index), randomLow: ad.serveID.low)
  }

  private func headers(_ type: EventType, _ id: UUIDv7) -> [RecordHeader] {
    [
      RecordHeader("content-type", "application/protobuf"), RecordHeader("ce_specversion", "1.0"),
      RecordHeader("ce_type", "\(type.name)"), RecordHeader("ce_source", "/test"),
      RecordHeader("ce_id", id.description),
    ]
  }
}

extension StoredPartition {
  /// A record as the service's own decoder reads it.
  fileprivate func incoming(
    _ input: Int, key: [UInt8] = [], _ value: [UInt8], _ headers: [RecordHeader]
  ) throws -> Incoming {
    var decoder = try plan.service.makeDecoder()
    decoder.begin()
    return key.withUnsafeBytes { key in
      decoder.key(key)
      for header in headers { header.withUnsafeBytes { decoder.header(name: $0, value: $1) } }
      let (event, sequence) = value.withUnsafeBytes {
        decoder.decode(input: input, value: $0, arrival: plan.clock.now)
      }
      return (input, event, sequence)
    }
  }
}
