import AdCore
import BillingCore
import Postgres
import TestServices
import Testing

@testable import Billing

@Suite("Where events wait for budget")
struct WaitingBudgetTests {
  @Test("B4: each campaign's day of a partition is found once, and not by reading all that waits for it")
  func places() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    defer { connection.close() }
    #expect(try connection.run(ReadWaitingBudgets(partition: 3)).isEmpty)
    try connection.executeScript(
      """
      INSERT INTO billing.waiting_row (serve_id, batch_number, event_time, id_hash, terms, allotment, price, partition,
        budget_day, position, kind, device, size, advertiser, campaign, currency, country, placement)
      SELECT public.first_uuid_at(now()), n, now(), n, 1, 1, 5, partition, day, position, vocabulary.charge_kind('click'), 1, 1,
        advertiser, campaign, currency, 'US', 'home'
      FROM generate_series(1, 400) AS n, (VALUES (3, 10, 1, 'acme', 'summer', 'USD'),
        (3, 11, 2, 'acme', 'summer', 'USD'), (3, 10, 3, 'bolt', 'autumn', 'EUR'), (3, 9, 4, 'bolt', 'winter', 'EUR'),
        (4, 12, 5, 'acme', 'spring', 'USD')) AS place (partition, day, position, advertiser, campaign, currency);
      ANALYZE billing.waiting_row;
      """)
    let found = try connection.run(ReadWaitingBudgets(partition: 3)).map { "\($0.campaign) \($0.day) \($0.currency)" }
    #expect(found == ["autumn 10 EUR", "summer 10 USD", "summer 11 USD", "winter 9 EUR"])
    #expect(try connection.run(ReadWaitingBudgets(partition: 4)).map(\.campaign.text) == ["spring"])
    let plan = try connection.query(
      "EXPLAIN (ANALYZE, TIMING OFF) " + ReadWaitingBudgets.sql.replacing("$1", with: "3")
    ).map { try $0.decode(0, String.self) }
    #expect(!plan.contains { $0.contains("Seq Scan") || $0.contains("rows=400 ") }, "\(plan.joined(separator: "\n"))")
  }
}
