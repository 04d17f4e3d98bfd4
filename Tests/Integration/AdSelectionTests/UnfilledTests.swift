import AdCore
import JSON
import Postgres
import TestValues
import Testing

@testable import AdSelectionCore
@testable import Handbill
@testable import Runtime

@Suite("Why requests got no ad")
struct UnfilledTests {
  private func question(_ world: LoggedWorld) -> LoggedHistory.Question {
    LoggedHistory.Question(
      from: world.start.advanced(byMilliseconds: -60_000), to: world.clock.now.advanced(byMilliseconds: 60_000))
  }

  @Test("The counts by campaign add up to those that each decision's row has, rule by rule")
  func sums() async throws {
    let world = try await LoggedWorld(seed: 14)
    try world.run(decisions: 700)
    var looked = 0
    var seen: Set<NoServeReason> = []
    try LoggedHistory.visit(question(world), world.database) { decision, auction, replay in
      guard case .known(let known) = auction,
        let reasons = replay.reasons(against: known.auction, in: known.snapshot)
      else { return }
      var sums: [NoServeReason: Int] = [:]
      for counts in reasons.counts.values { sums.merge(counts) { $0 + $1 } }
      // Of a winner's auction nobody has counted what was worth less and had no budget either.
      if decision.reason.isFill { sums[.noAllotment] = nil }
      var logged = Dictionary(uniqueKeysWithValues: decision.excluded.map { ($0.reason, Int($0.ads)) })
      if decision.reason.isFill { logged[.noAllotment] = nil }
      #expect(sums == logged, "\(decision.serveID)")
      looked += 1
      seen.formUnion(sums.keys)
    }
    #expect(looked > 400 && seen.count > 6, "\(looked) \(seen)")
  }

  @Test("Campaigns stand by how often they came nearest, with the rule at which their best ad failed")
  func report() async throws {
    let world = try await LoggedWorld(seed: 12)
    try world.run(decisions: 900)
    let all = try UnfilledReport.make(question(world), oneIn: 1, world.database)
    let rows = try world.database.query(
      """
      SELECT count(*), (SELECT sum(ads) FROM ad_selection.decision d, unnest(d.excluded_counts) AS ads
        WHERE d.rules IS NOT NULL AND d.ad IS NULL)::bigint
      FROM ad_selection.decision WHERE rules IS NOT NULL AND ad IS NULL
      """)
    #expect(try all.unfilled.values.reduce(0, +) == rows[0].decode(0, Int64.self))
    #expect(try all.ads.values.reduce(0, +) == rows[0].decode(1, Int64.self))
    #expect(all.sampled + all.unfilled[.countryNotServed, default: 0] == all.unfilled.values.reduce(0, +))
    #expect(all.ranked.map(\.missed.nearest) == all.ranked.map(\.missed.nearest).sorted(by: >))
    #expect(all.unfilled[.noAllotment, default: 0] > 20)
    // Where an ad had no budget and nothing else was in the way, nobody came further.
    #expect(all.ranked.contains { $0.missed.nearest > 0 && $0.missed.reasons[.noAllotment, default: 0] > 0 })
    for (_, missed) in all.ranked { #expect(missed.reasons.values.reduce(0, +) <= all.sampled) }

    let few = try UnfilledReport.make(question(world), oneIn: 5, world.database)
    #expect(few.unfilled == all.unfilled && few.ads == all.ads)
    #expect(few.sampled > 0 && few.sampled < all.sampled / 2)
    #expect(few.json["sampled"]?.integerValue == few.sampled)
    #expect(all.text(campaigns: 3).contains("came nearest"))
  }

  @Test("The command says what is wrong with its line")
  func command() async throws {
    let world = try await LoggedWorld(seed: 13)
    let from = world.start.advanced(byMilliseconds: -60_000).utcText
    func run(_ arguments: [String]) async -> Int32 {
      await CommandLineProgram.run(
        HandbillMain.command, arguments: ["unfilled", "--database-url", world.url] + arguments
      ).rawValue
    }
    for arguments in [[], ["--from", "x"], ["--from", from, "--one-in", "0"], ["--from", from, "--limit", "few"]] {
      #expect(await run(arguments) == 64, "\(arguments)")
    }
    #expect(await run(["--from", from]) == 0)
  }
}
