import AdCore
import AdEvents
import BillingCore
import Postgres
import Testing

@Suite("Budget rows and the tables of days")
struct BudgetRowTests {
  @Test("a campaign named with an account that is not its own hides nothing of what the real one is charged")
  func foreignAccount() async throws {
    let network = try await TestNetwork()
    try network.fund(1_000_000_000_000)
    let partition = try BillingPartition(network)
    var foreign = try network.terms(99, partition: 0)
    foreign.currency = try #require(Currency("EUR"))
    let event = AcceptedEvent(AcceptedImpression(terms: foreign, eventTime: network.now, arrival: network.now))
    try partition.process([.event(event), network.ask(1)])
    #expect(partition.grants.count == 1)
    #expect(
      try network.numbers(
        """
        SELECT d.allotted - c.allotted, d.charged - c.charged, c.allotted - a.allotted
        FROM treasury.campaign_day d JOIN treasury.campaign c USING (campaign) JOIN treasury.account a USING (advertiser)
        WHERE a.currency = 'USD'
        """) == [0, 0, 0])
    #expect(try network.numbers("SELECT fate FROM billing.charge") == [2])
  }

  @Test("days in which nobody made tables have them as soon as somebody is back")
  func noGap() async throws {
    let network = try await TestNetwork()
    let count = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'billing.charge_row'::regclass"
    #expect(try network.numbers(count) == [6])
    let connection = try network.connect()
    defer { connection.close() }
    _ = try connection.query("SELECT public.keep_days('billing.charge_row'::regclass, current_date + 20, 2, 3, 400)")
    #expect(try network.numbers(count) == [26])
    _ = try connection.query("SELECT public.keep_days('billing.charge_row'::regclass, current_date + 90, 2, 3, 5)")
    // The five days of retention; what is older stays until it is sealed.
    #expect(try network.numbers(count) == [35])
  }
}
