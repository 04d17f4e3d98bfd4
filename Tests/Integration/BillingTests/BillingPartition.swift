import AdCore
import AdEvents
import BillingCore
import Pipeline
import PipelineHost
import Postgres
import TestServices
import TestValues
import Testing

@testable import Billing

/// One partition of billing on the network's database.
final class BillingPartition {
  let network: TestNetwork
  var published: Publications { stored.published }
  private let stored: StoredPartition<TappedTables>
  private var events: UInt64 = 0

  init(
    _ network: TestNetwork, _ partition: Int32 = 0, settings: BillingSettings = BillingSettings(),
    partitionCount: Int32 = TestNetwork.partitionCount, clock: (any TimeSource)? = nil,
    tap: @escaping @Sendable (CommitBatch<BillingService>) -> Void = { _ in }
  ) throws {
    self.network = network
    let tables = BillingTables(settings: settings, catalog: network.catalog, logger: .unread)
    stored = try StoredPartition(
      StoredPartition.Plan(
        number: partition, of: partitionCount, service: BillingService(ring: .sample),
        tables: TappedTables(tables: tables, tap: tap),
        database: network.configuration, clock: clock ?? MovingClock(network.now)))
  }

  /// The next owner takes the partition over after a crash; what is published is its own from then on.
  func takeOver() throws {
    published.take()
    try stored.takeOver()
  }

  /// Everything that is counted is written.
  func writeCounts() throws { try stored.writeAllCounts() }

  /// What was granted so far, as its messages say.
  var grants: [AllotmentGrant] { grants(after: 0) }

  /// The same without what the first `count` messages say.
  func grants(after count: Int) -> [AllotmentGrant] { published.messages.dropFirst(count).compactMap(Self.grant) }

  /// The grant that a message is; nil for a refusal and for a watermark.
  static func grant(of message: OutgoingMessage) -> AllotmentGrant? {
    (message.value ?? []).withUnsafeBytes { bytes in
      guard case .grant(_, let grant)? = try? BudgetRecord.read(bytes, headers: RecordHeaders()) else { return nil }
      return grant
    }
  }

  func impression(_ allotment: UInt64, price: Int64 = 10_000_000, issuedAt: Timestamp? = nil) throws -> BillingInput {
    var terms = try nextTerms(allotment, issuedAt: issuedAt)
    terms.impressionPrice = Nanos(price)
    return .event(AcceptedEvent(AcceptedImpression(terms: terms, eventTime: network.now, arrival: network.now)))
  }

  /// - Parameter daysAhead: how many days after today is the one whose budget the ad was sold from.
  func click(
    _ allotment: UInt64, price: Int64 = 2_000_000_000, daysAhead: Int32 = 0, issuedAt: Timestamp? = nil
  ) throws -> BillingInput {
    var terms = try nextTerms(allotment, issuedAt: issuedAt)
    terms.clickPrice = Nanos(price)
    terms.budgetDay += daysAhead
    return .event(
      AcceptedEvent(
        AcceptedClick(terms: terms, idHash: 1, eventTime: network.now, arrival: network.now, verdict: .billable)))
  }

  private func nextTerms(_ allotment: UInt64, issuedAt: Timestamp?) throws -> ServedTerms {
    events += 1
    var terms = try network.terms(events, partition: stored.plan.number, issuedAt: issuedAt)
    terms.allotment = allotment
    return terms
  }

  @discardableResult
  func process(_ events: [BillingInput]) throws -> BatchSummary {
    try stored.process(
      events.map { event in
        let input =
          switch event {
          case .event(let accepted): accepted.kind == .impression ? 0 : 1
          default: 2
          }
        if case .ask = event { return (input, event, .unnumbered) }
        return (input, event, stored.nextSequence(input: input))
      }, arrival: network.now)
  }

  /// Both trackers say that everything before `time` is decided; then a second passes.
  func pass(_ time: Timestamp) throws {
    try stored.process(
      (0...1).map { ($0, .watermark, stored.watermark(input: $0, time: time)) }, arrival: network.now)
    try stored.tick()
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

  func lookUp(
    _ query: BillingQuery, partition: Int32, in connection: PostgresConnection
  ) throws(PostgresError) -> BillingKnowledge {
    try tables.lookUp(query, partition: partition, in: connection)
  }

  func rows(_ batch: CommitBatch<BillingService>, terms: TermsBook) -> [TableRows] {
    tables.rows(batch, terms: terms)
  }

  func finish(
    _ batch: CommitBatch<BillingService>, terms: TermsBook, with statements: inout StatementBatch
  ) -> CommitReader {
    tap(batch)
    return tables.finish(batch, terms: terms, with: &statements)
  }

  func countRows(_ counts: [RevenueMinute: RevenueSums], partition: Int32) -> TableRows {
    tables.countRows(counts, partition: partition)
  }

  static let countAgain = BillingTables.countAgain

  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int, in connection: PostgresConnection
  ) throws(PostgresError) -> [NumberedMessage] {
    try tables.messages(partition: partition, output: output, from: sequence, limit: limit, in: connection)
  }
}
