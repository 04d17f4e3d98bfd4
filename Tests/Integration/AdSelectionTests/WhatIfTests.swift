import AdCore
import Foundation
import JSON
import Operations
import Postgres
import TestValues
import Testing

@testable import Handbill
@testable import Runtime

@Suite("Logged auctions, held again")
struct WhatIfTests {
  /// How many requests are decided; `WHATIF_DECISIONS` asks for more.
  private static let decisions = ProcessInfo.processInfo.environment["WHATIF_DECISIONS"].flatMap(Int.init) ?? 3_000

  private func answer(_ world: LoggedWorld, _ change: (inout LoggedHistory.Question) -> Void = { _ in }) throws
    -> WhatIfReport
  {
    var question = LoggedHistory.Question(
      from: world.start.advanced(byMilliseconds: -60_000), to: world.clock.now.advanced(byMilliseconds: 60_000))
    change(&question)
    return try WhatIf.answer(question, world.database)
  }

  private func count(_ world: LoggedWorld, _ condition: String) throws -> Int64 {
    try world.database.query("SELECT count(*) FROM ad_selection.decision WHERE \(condition)")[0].decode(0)
  }

  @Test("Each comes to the same ad and price, ties too, through changes, grants, stops and restarts")
  func same() async throws {
    let world = try await LoggedWorld(seed: 1)
    try world.run(decisions: Self.decisions)
    let report = try answer(world)
    #expect(report.different == 0, "\(report.text)")
    #expect(report.notKnown == 0)
    #expect(report.decisions == Int64(world.decided) && report.auctions > report.decisions * 9 / 10)
    #expect(report.withoutAuction == report.decisions - report.auctions)
    // It has been put to the test: tie-breaks, budgets that had run out, and a breaker that was open.
    let reasons = Dictionary(uniqueKeysWithValues: report.unfilled.map { ($0.key, $0.value.logged) })
    #expect(reasons[.noAllotment, default: 0] > 0 && reasons[.countryNotServed, default: 0] > 0)
    #expect(try count(world, "paid_ads = vocabulary.paid_ads_state('stopped')") > 0)
    // A7: paid ads were withheld from some requests of an app, and from others not.
    let withheld = try count(world, "paid_ads = vocabulary.paid_ads_state('withheld')")
    #expect(withheld > 0 && withheld < report.auctions / 2 && reasons[.paidAdsWithheld, default: 0] > 0)
    #expect(try count(world, "outbid > 2 AND reason = vocabulary.decision_reason('served')") > report.auctions / 20)
    #expect(report.json["different"]?.integerValue == 0 && report.json["auctions"]?.integerValue == report.auctions)
    for pair in report.currencies.values { #expect(pair.logged == pair.replayed && pair.logged.fills > 0) }

    // A part of the time has budgets half used up at its beginning.
    let middle = world.start.advanced(byMilliseconds: world.clock.now.milliseconds(since: world.start) / 2)
    let part = try answer(world) { $0.from = middle }
    #expect(part.different == 0 && part.auctions > report.auctions / 4 && part.auctions < report.auctions)
    let end = try answer(world) { $0.to = middle }
    #expect(end.different == 0 && part.decisions + end.decisions == report.decisions)
  }

  @Test("What is wrong in the log shows: another seed, another budget, another state of the breaker")
  func differences() async throws {
    let world = try await LoggedWorld(seed: 2)
    // Request ids are of today, and so are the tie-breaks: enough that each statement makes a difference whatever they are.
    try world.run(decisions: 1_500)
    for statement in [
      "UPDATE ad_selection.auction_rules SET seed = seed + 1",
      "UPDATE ad_selection.decision SET reserved = reserved * 3",
      "UPDATE ad_selection.decision SET paid_ads = vocabulary.paid_ads_state('suspended')",
      "UPDATE ad_selection.decision SET segments = NULL",
      "UPDATE ad_selection.decision SET required_sizes = required_sizes | 32",
      "UPDATE ad_selection.decision SET catalog_change = (SELECT min(catalog_change) FROM ad_selection.decision)",
      "UPDATE ad_selection.decision SET batch_index = -batch_index",
      "UPDATE ad_selection.allotment SET batch_index = 0 WHERE closed_at IS NULL",
    ] {
      try world.database.begin()
      _ = try world.database.query(statement)
      #expect(try answer(world).different > 0, "\(statement)")
      try world.database.rollback()
    }
    #expect(try answer(world).different == 0)
  }

  @Test("A paused campaign wins nothing, a new one with money all that it is worth most for")
  func changes() async throws {
    let world = try await LoggedWorld(seed: 3)
    try world.run(decisions: 800)
    let logged = try answer(world)
    let most = try #require(logged.campaigns.max { $0.value.logged.fills < $1.value.logged.fills })
    let paused = try answer(world) { $0.overlay.set("campaign/\(most.key)", "isPaused", to: "true") }
    #expect(paused.isChanged && paused.campaigns[most.key]?.replayed.fills == 0)
    #expect(paused.campaigns[most.key]?.logged == most.value.logged)
    // And where it had only been one of equals, another may win.
    #expect(paused.different >= most.value.logged.fills && paused.same > 0)

    let rich = Campaign.sample("rich") {
      $0.impressionPrice = Nanos(90_000_000)
      $0.targeting.allowsUnder17 = true
    }
    let file = CatalogFile([.campaign(rich), .ad(.sample("rich-1", of: rich.id))])
    let without = try answer(world) { $0.overlay.put(file) }
    #expect(without.different == 0 || without.campaigns[rich.id] == nil, "nobody granted it anything")
    let with = try answer(world) {
      $0.overlay.put(file)
      $0.funded = [rich.id]
    }
    let asked = try count(
      world,
      """
      rules IS NOT NULL AND paid_ads = vocabulary.paid_ads_state('served') AND country <> 'FR'
        AND required_sizes & 32 = 0
      """)
    #expect(with.campaigns[rich.id]?.replayed.fills == asked)
    #expect(with.campaigns[rich.id]?.replayed.prices == Int128(asked) * 90_000_000)
    #expect(with.rankedCampaigns.first?.campaign == rich.id)
    #expect(throws: CatalogProblems.self) {
      try answer(world) { $0.overlay.set("campaign/none", "isPaused", to: "true") }
    }
    #expect(throws: CatalogProblems.self) {
      try answer(world) { $0.overlay.set("campaign/\(most.key)", "cpm", to: "cheap") }
    }
  }

  @Test("What is not known of a decision is counted, and not guessed")
  func notKnown() async throws {
    let world = try await LoggedWorld(seed: 4)
    try world.run(decisions: 300)
    let lost = try count(world, "rules IS NOT NULL AND batch_index IN (2, 3)")
    _ = try world.database.query("UPDATE ad_selection.decision SET catalog_change = NULL WHERE batch_index = 2")
    _ = try world.database.query(
      "UPDATE ad_selection.decision SET rules = NULL, catalog_change = NULL, batch_index = NULL WHERE batch_index = 3")
    let report = try answer(world)
    #expect(
      lost > 10 && report.notKnown == lost
        && report.notKnown + report.auctions + report.withoutAuction == report.decisions)
  }

  @Test("The command says what is wrong with its line, and ends as its help says")
  func command() async throws {
    let world = try await LoggedWorld(seed: 5)
    try world.run(decisions: 60)
    let from = world.start.advanced(byMilliseconds: -60_000).utcText
    let to = world.clock.now.advanced(byMilliseconds: 60_000).utcText
    func run(_ arguments: [String]) async -> Int32 {
      await CommandLineProgram.run(HandbillMain.command, arguments: ["whatif"] + arguments).rawValue
    }
    for arguments in [
      [], ["--from", "yesterday"], ["--from", from, "--to", from], ["--from", from, "--set", "campaign/a=1"],
      ["--from", from, "--catalog", "/nowhere/file.json"], ["--from", from, "--funded", "Not An Id"],
    ] {
      #expect(await run(["--database-url", "postgresql://127.0.0.1:1/none"] + arguments) == 64, "\(arguments)")
    }
    #expect(await run(["--from", from, "--database-url", "postgresql://127.0.0.1:1/none"]) == 69)
    #expect(await run(["--from", from]) == 78, "nothing says where the database is")
    #expect(await run(["--from", from, "--to", to, "--json", "--database-url", world.url]) == 0)
    _ = try world.database.query("UPDATE ad_selection.auction_rules SET seed = seed + 1")
    #expect(await run(["--from", from, "--to", to, "--database-url", world.url]) == 1)
    let change = ["--set", "campaign/campaign-1.isPaused=true"]
    #expect(await run(["--from", from, "--to", to, "--database-url", world.url] + change) == 0)
  }
}
