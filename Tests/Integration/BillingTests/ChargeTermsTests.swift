import AdCore
import AdEvents
import BillingCore
import Postgres
import TestServices
import TestValues
import Testing

@Suite("Charges by terms")
struct ChargeTermsTests {
  @Test("I2: terms of many charges are stored once, those of draws and of what waits too")
  func once() async throws {
    let network = try await TestNetwork()
    try network.fund(100)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1, used: 80, fullPrice: 25)])
    let grant = try #require(partition.grants.first)
    for round in 1...3 {
      // Charged to the allotment, and drawn.
      try partition.process([partition.impression(grant.allotment, price: 3), partition.impression(0, price: 5)])
      // Whoever takes over knows nothing of what is stored.
      if round == 2 { try partition.takeOver() }
    }
    for _ in 1...3 { try partition.process([partition.click(0, price: 85)]) }
    let charged = try network.numbers("SELECT count(*), count(DISTINCT terms) FROM billing.charge_row")
    let waiting = try network.numbers("SELECT count(*), count(DISTINCT terms) FROM billing.waiting_row")
    #expect(charged == [6, 2])
    #expect(waiting == [3, 1])
    #expect(try network.numbers("SELECT count(*) FROM billing.terms") == [3])
    #expect(
      try network.numbers(
        """
        SELECT sum(price), sum(amount), sum(developer_amount), sum(network_amount), count(draw_version),
          count(*) FILTER (WHERE (app, developer, advertiser, campaign, ad, currency)
            = ('weather', 'sunny', 'acme', 'summer', 'summer-1', 'USD'))
        FROM billing.charge
        """) == [24, 24, 15, 9, 3, 6])
    #expect(
      try network.numbers("SELECT sum(price), sum(amount), min(fate), count(DISTINCT campaign) FROM billing.waiting")
        == [255, 0, 4, 1])
  }

  @Test("terms of what waits are kept, however old, until it waits no more")
  func kept() async throws {
    let network = try await TestNetwork()
    let connection = try network.connect()
    defer { connection.close() }
    try connection.executeScript(
      """
      INSERT INTO billing.terms SELECT n, current_date - 30, 'a', 'b', 'c', 'd', 'e', 1, 1, 'USD', 1, 1, false
      FROM generate_series(1, 3) AS n;
      INSERT INTO billing.waiting_row (serve_id, batch_number, event_time, id_hash, terms, allotment, price, partition,
        budget_day, position, kind, device, size, advertiser, campaign, currency, country, placement)
      VALUES (gen_random_uuid(), 1, now(), 1, 2, 1, 1, 0, 1, 1, vocabulary.charge_kind('click'), 1, 1, 'c', 'd', 'USD', '', '');
      """)
    #expect(try network.numbers("SELECT public.forget_terms('billing')") == [2])
    #expect(try network.numbers("SELECT name FROM billing.terms") == [2])
    _ = try connection.query("DELETE FROM billing.waiting_row")
    #expect(try network.numbers("SELECT public.forget_terms('billing')") == [1])
  }

  @Test("B2, B4: the database splits what an event costs as the service does, whatever the price and the share")
  func amounts() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    defer { connection.close() }
    var random = SeededChance(seed: 7)
    var prices: [Int64] = [
      .min, .min + 1, -5_000, -1, 0, 1, 4_999, 5_000, 5_001, 9_999, 10_000, 10_001, .max - 1, .max,
    ]
    for bits in 1...63 { prices.append(Int64.random(in: 0...(.max >> (63 - bits)), using: &random)) }
    for _ in 0..<2_000 { prices.append(Int64.random(in: -20_000...20_000, using: &random)) }
    var shares: [UInt16] = [0, 1, 4_999, 5_000, 5_001, 9_999, 10_000]
    for _ in 0..<40 { shares.append(UInt16.random(in: 0...10_000, using: &random)) }
    for basisPoints in shares {
      let share = try #require(RevenueShare(basisPoints: basisPoints))
      let rows = try connection.query(
        """
        SELECT count(*), count(*) FILTER (WHERE part = billing.developer_part(price, $3)
          AND (price < 0 OR (
            SELECT bool_and((a.price, a.amount, a.developer_amount, a.network_amount) = (told.price, e.amount, e.part, e.rest))
            FROM (VALUES ('charged', told.price, part, told.price - part), ('unfunded', 0, part, -part), ('late', 0, 0, 0))
                AS e (fate, amount, part, rest)
              CROSS JOIN LATERAL billing.amounts(vocabulary.charge_kind('click'), vocabulary.charge_fate(e.fate), -7,
                told.price, $3) AS a)))
        FROM unnest($1::bigint[], $2::bigint[]) AS told (price, part)
        """, [prices, prices.map { share.split(Nanos($0)).developer.value }, Int32(basisPoints)])
      #expect(try rows[0].decode(0, Int64.self) == Int64(prices.count))
      #expect(try rows[0].decode(1, Int64.self) == Int64(prices.count), "\(basisPoints)")
    }
    let free = try connection.query(
      """
      SELECT price, amount, developer_amount, network_amount FROM billing.amounts(vocabulary.charge_kind('impression'), 18::smallint,
        5, 7, 6000)
      """)[0]
    #expect(try [0, 1, 2, 3].map { try free.decode($0, Int64.self) } == [5, 0, 0, 0])
  }
}
