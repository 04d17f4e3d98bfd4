import AdCore
import AdEvents
import Testing

@testable import AdSelectionCore

@Suite("The catalogue in memory")
struct CatalogTests {
  private func campaign(_ name: String) throws -> CatalogRecord {
    let samples = try Samples()
    var campaign = samples.campaigns[0]
    campaign.name = name
    return .campaign(campaign)
  }

  @Test("the highest version wins, for deletions too, in whatever order they come")
  func highestVersionWins() throws {
    let key = try campaign("a").key
    let messages: [CatalogMessage] = [
      .record(try campaign("a"), version: 1), .record(try campaign("b"), version: 3),
      .deleted(key: key, version: 4), .record(try campaign("c"), version: 2),
    ]
    for rotation in messages.indices {
      var catalog = CatalogState()
      for message in messages[rotation...] + messages[..<rotation] { _ = catalog.apply(message) }
      #expect(catalog.records.campaigns.isEmpty)
      #expect(catalog.matchesHeartbeat(records: 1, versionSum: 4))
      #expect(catalog.apply(.deleted(key: key, version: 4)) == .known)
      #expect(catalog.applyTombstone(key: key) == .changed(.init()))
      #expect(catalog.matchesHeartbeat(records: 0, versionSum: 0))
    }
  }

  @Test("versions below 1 and a sum that overflows are refused, and a tombstone never removes a live record")
  func refuses() throws {
    var catalog = CatalogState()
    let record = try campaign("a")
    let campaign = try Samples().campaigns[0].id
    #expect(catalog.apply(.record(record, version: 0)) == .refused)
    #expect(catalog.apply(.record(record, version: .max)) == .changed(.init(campaigns: [campaign])))
    #expect(catalog.apply(.deleted(key: "other", version: 1)) == .refused)
    #expect(catalog.applyTombstone(key: record.key) == .known)
    #expect(catalog.recordCount == 1)
  }

  @Test("an ad whose campaign is deleted is no candidate")
  func orphans() throws {
    let samples = try Samples()
    var catalog = samples.catalog
    #expect(catalog.records.candidates(clickRates: ClickRates()).count == 1)
    _ = catalog.apply(.deleted(key: CatalogRecord.campaign(samples.campaigns[0]).key, version: 2))
    #expect(catalog.records.candidates(clickRates: ClickRates()).isEmpty)
  }

  @Test("allotments are wanted for live paid campaigns only, at the full price (B1)")
  func allotmentWants() throws {
    var samples = try Samples()
    try samples.add(campaign: "store", ad: "store-1", kind: .developer)
    try samples.add(campaign: "own", ad: "own-1", kind: .house)
    try samples.add(campaign: "paused", ad: "paused-1")
    samples.ads[3].isPaused = true
    try samples.add(campaign: "over", ad: "over-1")
    samples.campaigns[4].flightEnd = Samples.now
    var keeper = WantsKeeper()
    keeper.update(samples.catalog.records, now: Samples.now)
    let wants = samples.campaigns.map(\.id).sorted().compactMap { keeper.wants[$0] }
    #expect(wants.map(\.budgetDay) == [Samples.budgetDay, Samples.budgetDay])
    #expect(wants.map(\.campaign.text) == ["store", "summer"])
    #expect(wants.map(\.fullPrice.value) == [500_000_000, 510_000_000])
  }
}

@Suite("The freshness of the catalogue")
struct CatalogFreshnessTests {
  private func at(_ milliseconds: Int64) -> Timestamp { Samples.now.advanced(byMilliseconds: milliseconds) }

  @Test("nothing is served before the first agreement, and a heartbeat from a backlog is none")
  func complete() throws {
    let catalog = try Samples().catalog
    var freshness = CatalogFreshness()
    #expect(freshness.state(at: at(0)) == .incomplete)
    func beat(_ records: Int64, sent: Int64, read: Int64) {
      freshness.noteHeartbeat(
        records: records, versionSum: catalog.versionSum, at: at(sent), own: catalog, now: at(read))
    }
    beat(catalog.recordCount, sent: -60_000, read: 0)
    #expect(freshness.state(at: at(0)) == .incomplete)
    beat(catalog.recordCount + 1, sent: 0, read: 0)
    #expect(freshness.state(at: at(0)) == .incomplete)
    beat(catalog.recordCount, sent: 1_000, read: 1_000)
    #expect(freshness.state(at: at(1_000)) == .complete)
  }

  @Test("a disagreement has 5 s of grace, and agreement ends it")
  func grace() throws {
    var catalog = try Samples().catalog
    var freshness = CatalogFreshness()
    freshness.noteHeartbeat(
      records: catalog.recordCount, versionSum: catalog.versionSum, at: at(0), own: catalog, now: at(0))
    for second in 1...6 {
      freshness.noteHeartbeat(
        records: catalog.recordCount + 1, versionSum: catalog.versionSum + 3, at: at(Int64(second) * 1_000),
        own: catalog, now: at(Int64(second) * 1_000))
    }
    #expect(freshness.state(at: at(6_000)) == .complete)
    #expect(freshness.state(at: at(6_001)) == .incomplete)
    _ = catalog.apply(.deleted(key: "campaign/gone", version: 3))
    freshness.noteCatalog(catalog, now: at(6_500))
    #expect(freshness.state(at: at(6_500)) == .complete)
  }

  @Test("a heartbeat's stop holds for 3 s after the last one that tells it, whatever another console says")
  func stop() throws {
    let catalog = try Samples().catalog
    var freshness = CatalogFreshness()
    func beat(_ moment: Int64, _ stop: PaidAdsStop?) {
      freshness.noteHeartbeat(
        records: catalog.recordCount, versionSum: catalog.versionSum, at: at(moment), stop: stop, own: catalog,
        now: at(moment))
    }
    beat(0, nil)
    #expect(freshness.state(at: at(0)) == .complete)
    beat(1_000, .lag)
    beat(1_500, nil)
    #expect(freshness.state(at: at(1_500)) == .stopped)
    beat(2_000, .difference)
    beat(2_500, nil)
    #expect(freshness.stop(at: at(4_999)) == .difference)
    #expect(freshness.state(at: at(4_999)) == .stopped)
    #expect(freshness.state(at: at(5_000)) == .complete)
    #expect(freshness.stop(at: at(5_000)) == nil)
    // Nobody beats any more: that is the reason then.
    beat(6_000, .unknown)
    #expect(freshness.state(at: at(8_999)) == .stopped)
    #expect(freshness.state(at: at(16_000)) == .withoutHeartbeat)
  }

  @Test("without a heartbeat for 10 s paid ads are suspended, until the next")
  func heartbeat() throws {
    let catalog = try Samples().catalog
    var freshness = CatalogFreshness()
    for moment in [0, 20_000] as [Int64] {
      freshness.noteHeartbeat(
        records: catalog.recordCount, versionSum: catalog.versionSum, at: at(moment), own: catalog, now: at(moment))
      #expect(freshness.state(at: at(moment + 9_999)) == .complete)
      #expect(freshness.state(at: at(moment + 10_000)) == .withoutHeartbeat)
    }
  }
}
