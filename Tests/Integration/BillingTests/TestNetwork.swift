import AdCore
import AdEvents
import BillingCore
import Pipeline
import PipelineHost
import Postgres
import Runtime
import TestServices
import TestValues
import Testing

@testable import Billing

/// Billing's tables in a database of their own, with one advertiser and one campaign.
struct TestNetwork: Sendable {
  static let partitionCount: Int32 = 4

  let configuration: PostgresConfiguration
  let catalog = BudgetCatalog()
  let advertiser: Advertiser
  let now: Timestamp
  let today: BudgetDay

  /// - Parameter hour: of today at which everything happens; nil: now.
  init(funding: Int128 = 1_000_000_000_000_000, hour: Int64? = nil) async throws {
    configuration = try await TestDatabase.configuration()
    let calendar = try #require(BudgetCalendar(timeZone: "UTC"))
    let present = SystemClock().now
    now =
      hour.map { Timestamp(milliseconds: Int64(calendar.day(of: present).number) * 86_400_000 + $0 * 3_600_000) }
      ?? present
    today = calendar.day(of: now)
    advertiser = Advertiser(
      id: try #require(AdvertiserID("acme")), name: "Acme", currency: try #require(Currency("USD")), timeZone: "UTC",
      accountFunding: funding)
    try publish(.record(.advertiser(advertiser), version: 1))
  }

  func connect() throws -> PostgresConnection { try PostgresConnection(configuration) }

  func publish(_ message: CatalogMessage) throws {
    let connection = try connect()
    defer { connection.close() }
    try catalog.apply(message, in: connection)
  }

  /// Publishes the campaign `summer` with these budgets.
  @discardableResult
  func fund(_ total: Int128, daily: Int128? = nil, version: Int64 = 1) throws -> CatalogMessage {
    let campaign = Campaign(
      id: try #require(CampaignID("summer")), advertiser: advertiser.id, name: "Summer", kind: .brand,
      impressionPrice: Nanos(10_000_000), clickPrice: Nanos(2_000_000_000), totalBudget: total, dailyBudget: daily,
      flightStart: now.advanced(byMilliseconds: -1_000), flightEnd: now.advanced(byMilliseconds: 30 * 86_400_000),
      isPaused: false, targeting: Targeting())
    let message = CatalogMessage.record(.campaign(campaign), version: version)
    try publish(message)
    return message
  }

  func terms(_ number: UInt64, partition: Int32, issuedAt: Timestamp? = nil) throws -> ServedTerms {
    let issuedAt = issuedAt ?? now
    return try .sample(partition: partition, issuedAt: issuedAt) { terms in
      terms.serveID = ServeID(timestamp: issuedAt, randomHigh: UInt64(partition), randomLow: number)
      terms.expiresAt = issuedAt
      (terms.advertiser, terms.campaign) = (advertiser.id, try #require(CampaignID("summer")))
      (terms.developer, terms.ad) = (try #require(DeveloperID("sunny")), try #require(AdID("summer-1")))
      (terms.allotment, terms.budgetDay, terms.clientHash) = (0, today.number, 0)
    }
  }

  func ask(
    _ ordinal: Int64, used: Int64 = 0, fullPrice: Int64 = 2_010_000_000, clickPrice: Int64 = 0
  ) throws -> BillingInput {
    .ask(
      AllotmentAsk(
        campaign: try #require(CampaignID("summer")), advertiser: advertiser.id, budgetDay: today.number,
        ordinal: ordinal, usedLastMinute: Nanos(used), fullPrice: Nanos(fullPrice),
        clickPrice: Nanos(clickPrice), currency: advertiser.currency))
  }

  /// The numbers of the first row of an answer.
  func numbers(_ sql: String) throws -> [Int128] {
    let connection = try connect()
    defer { connection.close() }
    let row = try #require(try connection.query(sql).first)
    var numbers: [Int128] = []
    for column in 0..<row.columnCount { numbers.append(try row.decode(column)) }
    return numbers
  }
}

/// One partition of billing on the real database, fed by hand; it keeps what it publishes. Used by one thread.
final class TestPartition {
  let network: TestNetwork
  let partition: Int32
  let published: Publications
  private let pipeline: PartitionPipeline<PostgresPipelineStore<TappedTables>, Publications>
  private let settings: BillingSettings
  private let partitionCount: Int32
  private let clock: any Clock
  private var offsets: [Int64]
  private var sequences: [Int64] = [0, 0, 0]
  private var events: UInt64 = 0

  init(
    _ network: TestNetwork, _ partition: Int32 = 0, settings: BillingSettings = BillingSettings(),
    partitionCount: Int32 = TestNetwork.partitionCount, clock: (any Clock)? = nil,
    tap: @escaping @Sendable (CommitBatch<BillingService>) -> Void = { _ in }
  ) throws {
    self.network = network
    self.partition = partition
    self.settings = settings
    self.partitionCount = partitionCount
    let clock = clock ?? MovingClock(network.now)
    self.clock = clock
    published = Publications()
    let service = BillingService()
    pipeline = PartitionPipeline(
      service: service, partition: partition, partitionCount: partitionCount,
      store: PostgresPipelineStore(
        tables: TappedTables(
          tables: BillingTables(settings: settings, catalog: network.catalog, logger: .unread), tap: tap),
        service: service, configuration: network.configuration),
      writer: published, clock: clock)
    offsets = try pipeline.open(by: PartitionClaim(owner: 1, seenEpoch: 0)) { lastOffsets in
      lastOffsets.map { lastOffset in
        LogProbe(
          firstOffset: 0, endOffset: 1 << 40,
          record: lastOffset.map { RecordIdentity(offset: $0, timestamp: 0, contentHash: 0) })
      }
    }
  }

  /// The next owner of the partition, after a crash.
  func successor() throws -> TestPartition {
    let next = try TestPartition(
      network, partition, settings: settings, partitionCount: partitionCount, clock: clock)
    (next.sequences, next.events) = (sequences, events)
    return next
  }

  /// What was granted so far, as its messages say.
  var grants: [AllotmentGrant] { grants(after: 0) }

  /// The same without what the first `count` messages say.
  func grants(after count: Int) -> [AllotmentGrant] {
    published.messages.dropFirst(count).compactMap { message in
      (message.value ?? []).withUnsafeBytes { bytes in
        guard case .record(_, let grant)? = try? Sequenced<AllotmentGrant>.read(bytes, headers: RecordHeaders()) else {
          return nil
        }
        return grant
      }
    }
  }

  func impression(_ allotment: UInt64, price: Int64 = 10_000_000, issuedAt: Timestamp? = nil) throws -> BillingInput {
    var terms = try nextTerms(allotment, issuedAt: issuedAt)
    terms.impressionPrice = Nanos(price)
    return .event(AcceptedEvent(AcceptedImpression(terms: terms, eventTime: network.now, arrival: network.now)))
  }

  func click(_ allotment: UInt64, price: Int64 = 2_000_000_000) throws -> BillingInput {
    var terms = try nextTerms(allotment, issuedAt: nil)
    terms.clickPrice = Nanos(price)
    return .event(
      AcceptedEvent(
        AcceptedClick(terms: terms, idHash: 1, eventTime: network.now, arrival: network.now, verdict: .billable)))
  }

  private func nextTerms(_ allotment: UInt64, issuedAt: Timestamp?) throws -> ServedTerms {
    events += 1
    var terms = try network.terms(events, partition: partition, issuedAt: issuedAt)
    terms.allotment = allotment
    return terms
  }

  @discardableResult
  func process(_ events: [BillingInput]) throws -> BatchSummary {
    var batch = InputBatch<BillingInput>(inputCount: 3)
    for event in events {
      var input = 2
      if case .event(let accepted) = event { input = accepted.kind == .impression ? 0 : 1 }
      var mark = SequenceMark.unnumbered
      if case .ask = event {
      } else {
        sequences[input] += 1
        mark = .number(sequences[input])
      }
      append(event, input: input, mark: mark, to: &batch)
    }
    return try pipeline.process(batch)
  }

  /// Both trackers say that everything before `time` is decided; then a second passes.
  func pass(_ time: Timestamp) throws {
    var batch = InputBatch<BillingInput>(inputCount: 3)
    for input in 0...1 {
      let mark = SequenceMark.watermark(Watermark(time: time, sequence: sequences[input]))
      append(.watermark, input: input, mark: mark, to: &batch)
    }
    _ = try pipeline.process(batch)
    _ = try pipeline.tick()
  }

  private func append(
    _ event: BillingInput, input: Int, mark: SequenceMark, to batch: inout InputBatch<BillingInput>
  ) {
    batch.append(
      InputRecord(
        input: input, offset: offsets[input], timestamp: 0, arrival: network.now, mark: mark, event: event,
        contentHash: 0, raw: RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0)))
    offsets[input] += 1
  }
}

/// Billing's tables, which tell of each batch as it goes to the database.
struct TappedTables: ServiceTables {
  typealias Service = BillingService

  let tables: BillingTables
  let tap: @Sendable (CommitBatch<BillingService>) -> Void

  var consumers: [String] { tables.consumers }
  var windows: Windows { tables.windows }

  func load(
    _ partition: Int32, now: Timestamp, from connection: PostgresConnection
  ) throws(PostgresError) -> BillingDecider {
    try tables.load(partition, now: now, from: connection)
  }

  func look(
    up query: BillingQuery, partition: Int32, in connection: PostgresConnection
  ) throws(PostgresError) -> BillingKnowledge {
    try tables.look(up: query, partition: partition, in: connection)
  }

  func rows(_ batch: CommitBatch<BillingService>) -> [TableRows] { tables.rows(batch) }

  func finish(_ batch: CommitBatch<BillingService>, with pipeline: inout PostgresPipeline) -> CommitReader {
    tap(batch)
    return tables.finish(batch, with: &pipeline)
  }

  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int, in connection: PostgresConnection
  ) throws(PostgresError) -> [NumberedMessage] {
    try tables.messages(partition: partition, output: output, from: sequence, limit: limit, in: connection)
  }
}
