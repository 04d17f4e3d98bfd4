import AdCore
import AdEvents
import ClickTrackingCore
import Pipeline
import Postgres
import Runtime
import TestServices
import TestValues
import Testing

@testable import ClickTracking

/// Which ads clicks wait on: what a partition does not remember of it, it asks the tables.
@Suite("Ads on which clicks wait")
struct ServesWithClicksTests {
  private let now = SystemClock().now

  private func terms(_ serve: UInt64, client: UInt64) -> ServedTerms {
    .sample(serve: serve, partition: ClickPartition.number, issuedAt: now.advanced(byMilliseconds: -3_600_000)) {
      $0.clientHash = client
    }
  }

  private func tap(_ terms: ServedTerms, id: UInt64, age: Int64 = 3_000) -> ClickInput {
    .action(
      ActionEvent(
        kind: .click, terms: terms, age: .milliseconds(age), claimedTime: nil, idHash: .max - id, actionMilliseconds: 0,
        leftApplication: true))
  }

  private func view(_ terms: ServedTerms) -> ClickInput {
    .impression(
      AcceptedImpression(
        terms: terms, eventTime: terms.issuedAt.advanced(byMilliseconds: 1_000), arrival: terms.issuedAt))
  }

  /// Fifty ads of as many clients, each tapped before it is seen.
  private func tapped(_ partition: ClickPartition) throws -> [ServedTerms] {
    let ads = (1...50).map { terms($0, client: $0) }
    for (index, ad) in ads.enumerated() { try partition.run([tap(ad, id: UInt64(index))]) }
    return ads
  }

  @Test("M5: of ads that a partition does not remember, each view finds the click that waits for it")
  func beyondTheBound() async throws {
    let partition = try await ClickPartition(now: now, memory: ClickMemory(servesMaximum: 4))
    let ads = try tapped(partition)
    for ad in ads.shuffled() {
      if ad.serveID.low % 7 == 0 { try partition.takeOver() }
      try partition.run([view(ad)])
    }
    #expect(try partition.verdicts().count { $0.verdict == .billable && $0.wasParked } == ads.count)
    #expect(try partition.count("SELECT count(*) FROM click_tracking.parked") == 0)
  }

  @Test("M5: the timer ends the wait for views that never come, however many more there are than it remembers")
  func readOn() async throws {
    let partition = try await ClickPartition(now: now, memory: ClickMemory(servesMaximum: 8))
    let ads = try tapped(partition)
    // Seen, and waiting for the ad before it, of the same client, whose view is missing.
    let later = terms(100, client: 50)
    try partition.run([view(later), tap(later, id: 100, age: 4_000)])
    try partition.takeOver()
    try partition.run([.watermark])
    #expect(try partition.passMinute().isEmpty)
    #expect(try partition.count("SELECT count(*) FROM click_tracking.parked") == 0)
    let verdicts = try partition.verdicts()
    #expect(verdicts.count { $0.verdict == .noImpression } == ads.count && verdicts.count == ads.count + 1)
    #expect(verdicts.filter { $0.verdict == .billable }.map(\.id) == [100])
  }

  @Test("M5: seen ads whose clicks wait for others do not hide those whose views never come")
  func seenOnes() async throws {
    let partition = try await ClickPartition(now: now)
    let (seen, unseen) = ([terms(1, client: 7), terms(2, client: 7)], terms(3, client: 7))
    try partition.run([tap(unseen, id: 3)])
    for (index, ad) in seen.enumerated() {
      try partition.run([view(ad), tap(ad, id: UInt64(index), age: 4_000 + Int64(index))])
    }
    #expect(try partition.count("SELECT count(*) FROM click_tracking.parked") == 3)
    func found(_ count: Int, skipped: Int = 0) throws -> [ServeID] {
      var query = ClickQuery()
      query.expired = ExpiredServes(before: now, skipped: skipped, count: count)
      let tables = ClickTables(windows: Windows())
      return try tables.lookUp(query, partition: ClickPartition.number, in: partition.connection).expired
    }
    #expect(try found(1) == [unseen.serveID])
    #expect(try found(2) == [unseen.serveID] && found(1, skipped: 1).isEmpty)
  }

  @Test("M4: a click that waited is weighed against those of its client that were judged meanwhile")
  func weighed() async throws {
    let partition = try await ClickPartition(now: now)
    let (judged, waiting) = (terms(1, client: 7), terms(2, client: 7))
    try partition.run([view(judged), tap(judged, id: 1)])
    try partition.run([tap(waiting, id: 2, age: 4_000)])
    try partition.takeOver()
    try partition.run([view(waiting)])
    #expect(
      try partition.verdicts() == [
        .init(id: 1, verdict: .billable, wasParked: false), .init(id: 2, verdict: .limited, wasParked: true),
      ])
  }

  @Test("A8: the click of somebody who is taken out while it waits keeps its client until it is decided")
  func erased() async throws {
    let partition = try await ClickPartition(now: now)
    let (seen, unseen) = (terms(1, client: 77), terms(2, client: 77))
    try partition.run([tap(unseen, id: 2), view(seen), tap(seen, id: 1, age: 4_000)])
    let erase =
      "SELECT public.erase_client('{77}', public.first_uuid_of_ms(0), 'ffffffff-ffff-ffff-ffff-ffffffffffff')"
    try partition.connection.executeScript(erase)
    // The same tap again, and one more, after it.
    #expect(try partition.run([tap(unseen, id: 2)]).outcomes[Int(Outcome.duplicate.rawValue)] == 1)
    try partition.run([tap(unseen, id: 3, age: 5_000)])
    try partition.takeOver()
    try partition.run([view(unseen)])
    #expect(
      try partition.verdicts() == [
        .init(id: 2, verdict: .billable, wasParked: true), .init(id: 1, verdict: .limited, wasParked: true),
        .init(id: 3, verdict: .repeat, wasParked: true),
      ])
    try partition.connection.executeScript(erase)
    #expect(try partition.count("SELECT count(*) FROM click_tracking.click WHERE client_hash = 77") == 0)
  }

  @Test("What is asked of waiting clicks reads the rows that are asked for, whatever waits beside them")
  func plans() async throws {
    let partition = try await ClickPartition(now: now)
    let ads = try tapped(partition)
    try NeighbourRows.add(400, to: "click_tracking.parked_row", partition.connection)
    try partition.connection.executeScript("ANALYZE click_tracking.terms")
    let page = UnseenPage.Query(after: UnseenServe(of: ads[9]), count: 20)
    let read = ReadServesWithClicks(partition: ClickPartition.number, page: page)
    let pagePlan = try QueryPlan(ReadServesWithClicks.sql, read.parameters, partition.connection)
    #expect(pagePlan.rows("on parked_row") <= 25, "\(pagePlan.lines.joined(separator: "\n"))")
    #expect(pagePlan.rowsThrownAway == 0)
    #expect(try partition.connection.run(read).map { $0.serveID } == ads[10..<30].map(\.serveID))
    let find = FindWaitingClicks(
      partition: ClickPartition.number, clients: [ClickClient(of: ads[0])], serves: [ads[1].serveID])
    #expect(try Set(partition.connection.run(find).map { $0.terms.serveID }).isSuperset(of: ads[..<2].map(\.serveID)))
    let findPlan = try QueryPlan(FindWaitingClicks.sql, find.parameters, partition.connection)
    // Copies are of the same clients, half of them in another partition.
    #expect(findPlan.rowsThrownAway <= 400, "\(findPlan.lines.joined(separator: "\n"))")
  }
}
