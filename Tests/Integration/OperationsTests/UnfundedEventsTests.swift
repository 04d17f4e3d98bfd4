import AdCore
import Operations
import Postgres
import TestServices
import Testing

@Suite("Events that no budget could pay")
struct UnfundedEventsTests {
  @Test("B4: sealing takes none away, new ones add up, and what was sealed before is not counted")
  func count() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    defer { connection.close() }
    func add(_ events: Int, daysAgo: Int, _ fate: String = "unfunded") throws {
      try connection.executeScript(
        """
        INSERT INTO billing.minute_revenue (partition, minute, kind, fate, app, developer, advertiser, campaign, ad, placement,
          country, device, size, currency, events, gross, developer_amount, network_amount)
        SELECT 0, date_trunc('day', now(), 'UTC') - interval '\(daysAgo) days', vocabulary.charge_kind('click'),
          vocabulary.charge_fate('\(fate)'), 'chess', 'dev', 'acme', 'summer', 'summer-1', 'home', 'US', 1, 1, 'USD',
          \(events), 0, 0, 0
        """)
    }
    func seal(daysAgo: Int) throws {
      try connection.executeScript(
        "UPDATE sealed.head SET open_from = date_trunc('day', now(), 'UTC') - interval '\(daysAgo) days'")
    }
    for (events, daysAgo) in [(5, 2), (7, 1), (9, 0)] { try add(events, daysAgo: daysAgo) }
    try add(100, daysAgo: 1, "charged")
    var unfunded = UnfundedEvents()
    #expect(try unfunded.count(in: connection) == 21)
    try seal(daysAgo: 1)
    #expect(try unfunded.count(in: connection) == 21)
    try seal(daysAgo: 0)
    try add(2, daysAgo: 0)
    #expect(try unfunded.count(in: connection) == 23)
    #expect(try unfunded.count(in: connection) == 23)
    var later = UnfundedEvents()
    #expect(try later.count(in: connection) == 11)
    // A backup that knows of no sealing begins anew.
    try seal(daysAgo: 2)
    #expect(try unfunded.count(in: connection) == 23)
  }
}
