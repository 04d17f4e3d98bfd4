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
  /// By which billing takes the catalogue.
  let clock: MovingClock
  let catalog: BudgetCatalog
  let advertiser: Advertiser
  let now: Timestamp
  let today: BudgetDay

  /// - Parameters:
  ///   - hour: of today (UTC) at which everything happens; nil: now.
  ///   - timeZone: the advertiser's.
  init(funding: Int128 = 1_000_000_000_000_000, hour: Int64? = nil, timeZone: String = "UTC") async throws {
    configuration = try await TestDatabase.configuration()
    let calendar = try #require(BudgetCalendar(timeZone: timeZone))
    let present = SystemClock().now
    now =
      hour.map { Timestamp(milliseconds: present.milliseconds / 86_400_000 * 86_400_000 + $0 * 3_600_000) }
      ?? present
    today = calendar.day(of: now)
    clock = MovingClock(now)
    catalog = BudgetCatalog(clock: clock)
    advertiser = .sample { ($0.accountFunding, $0.timeZone) = (funding, timeZone) }
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
    let campaign = Campaign.sample("summer", of: advertiser.id) {
      ($0.totalBudget, $0.dailyBudget) = (total, daily)
      $0.flightStart = now.advanced(byMilliseconds: -1_000)
      $0.flightEnd = now.advanced(byMilliseconds: 30 * 86_400_000)
    }
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
