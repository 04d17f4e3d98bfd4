import AdCore
import AdEvents
import Pipeline
import PipelineHost
import Postgres
import TestValues
import Testing

@testable import Billing
@testable import BillingCore

@Suite("Charges that lie many in one row")
struct PackedChargeTests {
  private static let everything = "'00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'"

  /// A partition with an allotment that pays for all of it.
  private struct Funded {
    let network: TestNetwork
    let partition: BillingPartition
    let allotment: UInt64

    init() async throws {
      network = try await TestNetwork(hour: 12)
      try network.fund(1_000_000_000_000_000)
      partition = try BillingPartition(network)
      try partition.process([network.ask(1, used: 1_000_000_000)])
      allotment = try #require(partition.grants.first).allotment
    }

    /// So many seen ads, no two of them alike, served `apart` milliseconds one after the other.
    func impressions(_ count: Int, of allotment: UInt64? = nil, apart: Int64 = 7) throws -> [BillingInput] {
      try (0..<count).map { number in
        let input = try partition.impression(
          allotment ?? self.allotment, price: 1_000 + Int64(number),
          issuedAt: network.now.advanced(byMilliseconds: Int64(number) * apart))
        guard case .event(var event) = input else { throw TestFailure() }
        event.terms.placement = try #require(PlacementID("place-\(number % 7)"))
        event.terms.country = try #require(Country(number % 3 == 0 ? "DE" : "US"))
        event.terms.device = number % 4 == 0 ? .pad : .phone
        event.terms.size = number % 2 == 0 ? .phoneBannerPortrait : .phoneBannerLandscape
        event.eventTime = event.terms.serveID.timestamp.advanced(byMilliseconds: 1_000 + Int64(number))
        return .event(event)
      }
    }

    /// How many charges have rows of their own, how many packs there are, and how many charges in all.
    var counts: [Int128] {
      get throws {
        try network.numbers(
          """
          SELECT (SELECT count(*) FROM billing.charge_row), (SELECT count(*) FROM billing.charge_pack),
            (SELECT count(*) FROM billing.charge)
          """)
      }
    }

    /// Every charge in every column but its batch.
    var charges: [String] {
      get throws {
        let connection = try network.connect()
        defer { connection.close() }
        return try connection.query(
          "SELECT (to_jsonb(c) - 'batch_number')::text FROM billing.charge c ORDER BY serve_id, id_hash"
        ).map { try $0.decode(0) }
      }
    }
  }

  private struct TestFailure: Error {}

  @Test("B5: a pack tells of each charge whatever a row of its own would tell, and is found by each serve id")
  func same() async throws {
    let (packed, single) = (try await Funded(), try await Funded())
    let events = try packed.impressions(100)
    try packed.partition.process(events)
    for event in try single.impressions(100) { try single.partition.process([event]) }
    #expect(try packed.counts == [0, 2, 100])
    #expect(try single.counts == [100, 0, 100])
    #expect(try packed.charges == single.charges)
    // No two are alike: what changed places would show.
    #expect(try packed.network.numbers("SELECT count(DISTINCT (price, event_time)) FROM billing.charge") == [100])
    let connection = try packed.network.connect()
    defer { connection.close() }
    for case .event(let event) in events {
      let found = try connection.query(
        "SELECT serve_id, price FROM billing.charges($1, $1) WHERE partition = 0", [event.terms.serveID])
      #expect(try found.map { try $0.decode(0, ServeID.self) } == [event.terms.serveID])
      #expect(try found.map { try $0.decode(1, Int64.self) } == [event.terms.impressionPrice.value])
    }
  }

  @Test("of a batch those impressions are packed that have their fate, are of one minute, and are 16 at least")
  func split() async throws {
    let funded = try await Funded()
    let clicks = try (1...20).map { _ in try funded.partition.click(funded.allotment, price: 1) }
    // Free budget pays for some, so the database gives their fate.
    try funded.partition.process(try funded.impressions(20) + clicks + funded.impressions(20, of: 0))
    #expect(try funded.counts == [40, 1, 60])
    try funded.partition.process(try funded.impressions(15))
    #expect(try funded.counts == [55, 1, 75])
    // 3 s apart: twenty in each minute, that of the first begins with it.
    try funded.partition.process(try funded.impressions(60, apart: 3_000))
    #expect(try funded.counts == [55, 4, 135])
    let minutes = """
      SELECT count(*) FROM billing.charge_pack WHERE date_trunc('minute', public.time_of(serve_id))
        <> date_trunc('minute', public.time_of(last_serve_id))
      """
    #expect(try funded.network.numbers(minutes) == [0])
    // Two thirds of a pack are within a range that ends in it.
    let within = """
      SELECT count(*) FROM billing.charge_pack AS p, billing.charges(p.serve_id, p.serve_ids[14]) AS c
      WHERE c.batch_number = p.batch_number AND cardinality(p.serve_ids) = 20 AND c.kind = vocabulary.charge_kind('impression')
        AND c.draw_version IS NULL
      """
    #expect(try funded.network.numbers(within) == [4 * 14])
  }

  @Test("packs are of one fate each")
  func fates() async throws {
    let funded = try await Funded()
    var charges: [BillingEffects.Charge] = []
    for (number, input) in try funded.impressions(40).enumerated() {
      guard case .event(let event) = input else { throw TestFailure() }
      charges.append(.init(event: event, fate: number % 2 == 0 ? .charged : .unfunded))
    }
    let (packs, others) = ChargePacks.split(charges)
    #expect(others.isEmpty && packs.map(\.count) == [20, 20])
    #expect(packs.allSatisfy { pack in Set(pack.map(\.fate)).count == 1 })
  }

  @Test("M6: whoever takes over counts what lies in packs again, once")
  func counted() async throws {
    let funded = try await Funded()
    let sums = """
      SELECT (SELECT sum(events) FROM billing.all_revenue), (SELECT sum(gross) FROM billing.all_revenue),
        (SELECT sum(amount) FROM billing.charge), (SELECT count(DISTINCT (country, placement, device, size, minute))
          FROM billing.all_revenue),
        (SELECT count(DISTINCT (country, placement, device, size, date_trunc('minute', event_time))) FROM billing.charge)
      """
    try funded.partition.process(try funded.impressions(40))
    try funded.partition.takeOver()
    try funded.partition.writeCounts()
    let first = try funded.network.numbers(sums)
    #expect(first[0] == 40 && first[1] == first[2] && first[3] == first[4] && first[3] > 7)
    try funded.partition.process(try funded.impressions(50))
    try funded.partition.takeOver()
    try funded.partition.process(try funded.impressions(30))
    try funded.partition.writeCounts()
    let second = try funded.network.numbers(sums)
    #expect(second[0] == 120 && second[1] == second[2] && second[3] == second[4])
  }

  @Test("What charges come to is what they say, of those in rows and in packs, of draws, and of those counted so far")
  func sums() async throws {
    let funded = try await Funded()
    let events = try funded.impressions(20)
    let clicks = try (1...20).map { _ in try funded.partition.click(funded.allotment, price: 3) }
    try funded.partition.process(try events + clicks + funded.impressions(20, of: 0))
    try funded.partition.writeCounts()
    try funded.partition.process(try funded.impressions(60, apart: 3_000))
    let ids = events.compactMap { if case .event(let event) = $0 { "'\(event.terms.serveID)'" } else { nil } }
    let key = """
      partition, kind, fate, allotment, is_drawn, is_counted, budget_day, app, developer, advertiser, campaign, currency
      """
    for (first, next, due) in [
      (ids[0], "'ffffffff-ffff-ffff-ffff-ffffffffffff'", 120...120), (ids[4], ids[16], 12...36),
    ] {
      let (sums, single) = (
        """
        SELECT \(key), sum(events), sum(amount), sum(developer_amount), sum(network_amount)
        FROM billing.charge_sums(\(first), \(next)) GROUP BY \(key)
        """,
        """
        SELECT \(key), count(*), sum(amount), sum(developer_amount), sum(network_amount) FROM (
          SELECT *, draw_version IS NOT NULL AS is_drawn, draw_version IS NOT NULL OR batch_number <= (
            SELECT d.batch_number FROM billing.counted AS d WHERE d.partition = c.partition) AS is_counted
          FROM billing.charges(\(first), \(next)) AS c WHERE serve_id >= \(first) AND serve_id < \(next)
        ) AS charges GROUP BY \(key)
        """
      )
      let found = try funded.network.numbers(
        """
        SELECT (SELECT count(*) FROM ((\(sums)) EXCEPT (\(single))) AS a),
          (SELECT count(*) FROM ((\(single)) EXCEPT (\(sums))) AS b),
          (SELECT sum(events) FROM billing.charge_sums(\(first), \(next)))
        """)
      #expect(found.prefix(2) == [0, 0] && due.contains(Int(found[2])), "\(found)")
    }
    let parts = """
      SELECT count(DISTINCT is_drawn), count(DISTINCT is_counted), count(DISTINCT kind)
      FROM billing.charge_sums(\(Self.everything))
      """
    #expect(try funded.network.numbers(parts) == [2, 2, 2])
  }

  @Test("B5: an impression that no table takes goes into suspense alone, and the others of its batch are packed")
  func refused() async throws {
    let funded = try await Funded()
    let longAgo = funded.network.now.advanced(byMilliseconds: -90 * 86_400_000)
    var events = try funded.impressions(40)
    events.insert(try funded.partition.impression(funded.allotment, issuedAt: longAgo), at: 17)
    try funded.partition.process(events)
    #expect(try funded.network.numbers("SELECT count(*) FROM billing.charge") == [40])
    #expect(try funded.network.numbers("SELECT count(*) FROM billing.suspense") == [1])
    #expect(try funded.network.numbers("SELECT count(*) FROM billing.stored_charges(\(Self.everything))") == [40])
  }
}
