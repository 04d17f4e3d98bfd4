import AdCore
import AdEvents
import TestValues
import Testing

@testable import AdSelectionCore

@Suite("A7: an app that stops many actions is offered less")
struct LoweredOfferTests {
  private func lowered(to partsPerMillion: Int64) throws -> Samples {
    var samples = try Samples()
    samples.standings = [
      AppStanding(app: samples.apps[0].id, offerPartsPerMillion: partsPerMillion, stopped: 60, tapped: 100)
    ]
    return samples
  }

  private func withheld(_ samples: Samples, of requests: UInt64) throws -> Int {
    try (1...requests).count { number in
      samples.decide(try samples.request(number)).inputs?.paidAds == .withheld
    }
  }

  @Test(
    "A7: as many requests get no paid ad as the offer lacks, chosen by their ids",
    arguments: [0, 300_000, 730_000, 1_000_000])
  func share(offer: Int64) throws {
    let samples = try lowered(to: offer)
    let share = Double(try withheld(samples, of: 2_000)) / 2_000
    #expect(abs(share - Double(1_000_000 - offer) / 1_000_000) < 0.04)
  }

  @Test("A7: the same request has the same hash, and that of the tie-break is another")
  func sameHash() throws {
    let samples = try lowered(to: 500_000)
    let standing = try #require(samples.standings.first)
    var equal = 0
    for number in UInt64(1)...500 {
      let id = try samples.request(number).request.requestID
      #expect(standing.withholds(id, seed: 7) == standing.withholds(id, seed: 7))
      var hash = SeededHash(seed: 7)
      hash.combine(id)
      if standing.withholds(id, seed: 7) == (hash.finalized() % 2 == 0) { equal += 1 }
    }
    #expect((180...320).contains(equal))
  }

  @Test("A7: house ads are not lowered: they come in the place of what is withheld")
  func houseAds() throws {
    var samples = try lowered(to: 0)
    try samples.add(campaign: "own", ad: "own-1", kind: .house)
    let decision = samples.decide(try samples.request())
    #expect(decision.reason == .servedHouse && decision.inputs?.paidAds == .withheld)
    #expect(decision.explanation[.paidAdsWithheld] == 1)
  }

  @Test("A7, A2: test builds are not lowered", arguments: [Samples.testKey, Samples.adHocKey])
  func testAds(key: [UInt8]) throws {
    let samples = try lowered(to: 0)
    let decision = samples.decide(try samples.request(key: key))
    #expect(decision.reason != .paidAdsWithheld && decision.inputs == nil)
  }

  @Test("A7: another app is not lowered; without its standing an app is offered everything")
  func others() throws {
    var samples = try lowered(to: 0)
    samples.standings[0].app = known(AppID("other"))
    #expect(samples.decide(try samples.request()).reason == .served)
  }

  @Test(
    "What stops paid ads for everybody prevails", arguments: [CatalogFreshness.State.withoutHeartbeat, .stopped])
  func freshness(state: CatalogFreshness.State) throws {
    var samples = try lowered(to: 0)
    samples.freshness = state
    let decision = samples.decide(try samples.request())
    #expect(decision.inputs?.paidAds == state.paidAds && decision.explanation[.paidAdsSuspended] == 1)
  }

  @Test("A7: a standing that comes, changes and goes is in force at once")
  func follows() throws {
    let samples = try lowered(to: 0)
    var indexed = IndexedCatalog(clickRates: ClickRates())
    for record in samples.records { _ = indexed.apply(.message(.record(record, version: 1))) }
    var snapshot = CatalogSnapshot()
    snapshot.take(indexed.rebuilt(now: Samples.now))
    let app = samples.apps[0].id
    #expect(snapshot.apps[app]?.standing?.offerPartsPerMillion == 0)
    var raised = samples.standings[0]
    raised.offerPartsPerMillion = 600_000
    _ = indexed.apply(.message(.record(.standing(raised), version: 2)))
    snapshot.take(indexed.update(now: Samples.now))
    #expect(snapshot.apps[app]?.standing == raised)
    _ = indexed.apply(.message(.deleted(key: "standing/\(app)", version: 3)))
    snapshot.take(indexed.update(now: Samples.now))
    #expect(snapshot.apps[app] != nil && snapshot.apps[app]?.standing == nil)
  }
}
