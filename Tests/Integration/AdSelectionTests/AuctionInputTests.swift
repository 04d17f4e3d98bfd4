import AdCore
import AdEvents
import AdSelectionCore
import Postgres
import TestServices
import TestValues
import Testing

@testable import AdSelection
@testable import Runtime

@Suite("What went into an auction")
struct AuctionInputTests {
  @Test("A decision's row says what went into its auction, in the order of the batch, and nothing where there was none")
  func columns() async throws {
    let partition = try await SelectionPartition()
    let until = partition.clock.now.advanced(byMilliseconds: 60_000)
    let day = partition.budgetDay
    try partition.grant([(1, partition.network.grant(7, amount: 9_000_000_000, until: until, day: day))])
    let now = partition.clock.now
    _ = try partition.ask([
      try partition.network.request(1, at: now) { $0.segments = ["chess", "late, risers"] },
      try partition.network.request(2, at: now, country: "FR") { $0.clientID = "another" },
      try partition.network.request(3, at: now, key: "test") { $0.clientID = "third" },
    ])
    let rows = try partition.database.query(
      """
      SELECT batch_index, paid_ads, catalog_change, required_sizes, segments, is_interstitial, seed, prior_clicks,
        prior_impressions, image_sizes, rules IS NULL, catalog_change IS NULL
      FROM ad_selection.decision LEFT JOIN ad_selection.auction_rules USING (rules) ORDER BY batch_index
      """)
    #expect(rows.count == 3)
    let records = Int64(try partition.network.records.count)
    #expect(try rows.map { try $0.decode(0, Int32.self) } == [0, 1, 2])
    #expect(try rows.map { try $0.decode(1, PaidAdsState?.self) } == [.served, .served, nil])
    #expect(try rows.map { try $0.decode(2, Int64?.self) } == [records, records, nil])
    let sizes: [AdSize] = try rows[0].decode(9)
    #expect(try Set(SizeBits(bits: rows[0].decode(3)).sizes) == Set(sizes) && sizes.count == 2)
    #expect(try rows.map { try $0.decode(4, [String]?.self) } == [["chess", "late, risers"], nil, nil])
    #expect(try rows.map { try $0.decode(5, Bool?.self) } == [false, false, nil])
    #expect(try rows.map { try $0.decode(6, Int64?.self) } == [1, 1, nil])
    #expect(try rows[0].decode(7, Int64.self) == 2 && rows[0].decode(8, Int64.self) == 200)
    #expect(try rows.map { try $0.decode(10, Bool.self) } == [false, false, true])
  }

  @Test("An allotment's row says behind which requests of its batch it was granted")
  func place() async throws {
    let partition = try await SelectionPartition()
    let until = partition.clock.now.advanced(byMilliseconds: 60_000)
    let grants = (1...3).map { number in
      partition.network.grant(
        UInt64(number), ordinal: Int64(number), amount: 9, until: until, day: partition.budgetDay)
    }
    try partition.grant(grants.enumerated().map { (Int64($0 + 1), $1) })
    let rows = try partition.database.query("SELECT batch_index FROM ad_selection.allotment ORDER BY id")
    #expect(try rows.map { try $0.decode(0, Int32.self) } == [0, 1, 2])
  }

  @Test("A decision made while a change was on its way names no moment of the catalogue")
  func betweenChanges() async throws {
    let partition = try await SelectionPartition()
    let now = partition.clock.now
    let campaign = partition.network.campaign
    partition.catalog.apply([.message(.record(.campaign(campaign), version: 2))], now: now)
    _ = try partition.ask([try partition.network.request(1, at: now)])
    let rows = try partition.database.query("SELECT catalog_change, paid_ads FROM ad_selection.decision")
    #expect(try rows.map { try $0.decode(0, Int64?.self) } == [nil])
    #expect(try rows.map { try $0.decode(1, PaidAdsState.self) } == [.served])
  }
}
