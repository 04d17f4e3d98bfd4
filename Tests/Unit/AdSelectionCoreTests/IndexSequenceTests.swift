import AdCore
import Foundation
import TestValues
import Testing

@testable import AdSelectionCore

@Suite("The index, whatever happens")
struct IndexSequenceTests {
  /// `INDEX_SEQUENCES` asks for more.
  private static let sequences = ProcessInfo.processInfo.environment["INDEX_SEQUENCES"].flatMap(Int.init) ?? 100

  @Test(
    "after any changes, grants, uses, expiries and moves of the clock it says what the rules say ad by ad, and what an index from nothing says"
  )
  func sequences() throws {
    var coverage: Set<String> = []
    for seed in 1...Self.sequences {
      var world = try IndexWorld(seed: UInt64(seed))
      for _ in 0..<world.random.number(8...24) {
        try world.step()
        if world.jobs.isEmpty { try check(&world, seed: seed, &coverage) }
      }
      world.jobs.run()
      try check(&world, seed: seed, &coverage)
    }
    // Each of these must have come up, or the test looks at too little.
    let rules = NoServeReason.allCases.map { "\($0)" }
    #expect(coverage.isSuperset(of: rules + ["paid", "house", "nobody", "tie-break", "in recent", "mixed"]))
  }

  @Test(
    "of thousands of ads it says the same: ranks, tie-breaks and summaries reach beyond a word, and beyond what is counted at once",
    arguments: [65, 1_100, 4_300], [0, 9, 10])
  func many(ads: Int, houseAdsInTen: Int) throws {
    var coverage: Set<String> = []
    var world = try IndexWorld(seed: UInt64(ads), ads: ads, houseAdsInTen: houseAdsInTen)
    for _ in 0..<min(12, 16_000 / ads) {
      try check(&world, seed: ads, &coverage)
      try world.step()
      world.jobs.run()
    }
    #expect(coverage.isSuperset(of: [houseAdsInTen == 10 ? "house" : "paid", "tie-break"]))
  }

  private func check(_ world: inout IndexWorld, seed: Int, _ coverage: inout Set<String>) throws {
    let asked = try world.ask()
    let view = world.source.view(at: world.now)
    // A heartbeat from the future, where the clock was set back: nobody is served then.
    guard view.freshness != .incomplete else { return }
    let snapshot = view.snapshot
    let due = world.naive(asked)
    let (winner, explanation) = world.run(asked, snapshot, &world.state)
    #expect(winner == due.winner?.ad.id, "seed \(seed)")
    #expect(explanation.candidates == due.candidates && explanation.total == due.candidates, "seed \(seed)")
    let counts = Dictionary(uniqueKeysWithValues: explanation.excluded.map { ($0.reason, $0.candidates) })
    #expect(counts == due.counts, "seed \(seed)")

    var fresh = PartitionState(allotments: world.state.allotments)
    let again = world.run(asked, world.rebuilt(), &fresh)
    #expect(again.0 == winner && again.1 == explanation, "seed \(seed)")

    checkSellable(world, snapshot, seed: seed)
    note(due, explanation, snapshot, &coverage)
    guard let winner = due.winner, !winner.isHouse else { return }
    // It is used, or stays for the next.
    let reservation = world.state.allotments.reserve(campaign: winner.campaign, price: winner.price, now: world.now)
    #expect(reservation != nil, "seed \(seed)")
  }

  /// A bit is set if and only if a reservation would succeed.
  private func checkSellable(_ world: IndexWorld, _ snapshot: CatalogSnapshot, seed: Int) {
    let sellable = world.state.sellable
    #expect(sellable.base.index === snapshot.base.index, "seed \(seed)")
    #expect(sellable.recent.index === snapshot.recent.index, "seed \(seed)")
    for (bits, index) in [(sellable.base, snapshot.base.index), (sellable.recent, snapshot.recent.index)] {
      for (position, candidate) in index.candidates.enumerated() {
        #expect(bits.ads.contains(position) == world.canBeSold(candidate), "seed \(seed)")
      }
      #expect(bits.summary == bits.ads.summary, "seed \(seed)")
    }
  }

  private func note(
    _ due: (winner: Candidate?, counts: [NoServeReason: Int], candidates: Int), _ explanation: Explanation,
    _ snapshot: CatalogSnapshot, _ coverage: inout Set<String>
  ) {
    for reason in due.counts.keys { coverage.insert("\(reason)") }
    guard let winner = due.winner else {
      coverage.insert("nobody")
      return
    }
    coverage.insert(winner.isHouse ? "house" : "paid")
    let inRecent = snapshot.recent.index.positions[winner.ad.id] != nil
    if inRecent { coverage.insert("in recent") }
    let (base, recent) = (snapshot.base.index.candidates, snapshot.recent.index.candidates)
    let isTieBroken = (base + recent).count { $0.worth == winner.worth } > 1
    if isTieBroken { coverage.insert("tie-break") }
    if base.contains(where: { $0.worth == winner.worth }), recent.contains(where: { $0.worth == winner.worth }) {
      coverage.insert("mixed")
    }
  }
}
