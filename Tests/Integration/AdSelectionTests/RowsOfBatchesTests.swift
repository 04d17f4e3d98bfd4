import AdCore
import AdEvents
import AdSelectionCore
import PipelineHost
import Postgres
import TestServices
import TestValues
import Testing

@testable import AdSelection

/// What is read to open a partition must not grow with what lies beside it.
@Suite("Decisions of batches")
struct RowsOfBatchesTests {
  /// A partition with a pack of 20 decisions and with four in rows of their own, two of them of requests without an app's
  /// key, beside many of each.
  private func grown() async throws -> SelectionPartition {
    let partition = try await SelectionPartition()
    let now = partition.clock.now()
    // The house ad is for Germany.
    _ = try partition.ask(try (1...20).map { try partition.network.request($0, at: now, country: "DE") })
    _ = try partition.ask(
      try (21...22).map { try partition.network.request($0, at: now) }
        + (23...24).map { number in
          try partition.network.request(number, at: now, key: "invented-\(number)") { $0.replyTopic = "" }
        })
    try NeighbourRows.add(1_000, to: "ad_selection.decision_row", partition.database)
    try NeighbourRows.add(200, to: "ad_selection.decision_pack", partition.database)
    try partition.database.executeScript("ANALYZE ad_selection.terms, ad_selection.creative, ad_selection.batch")
    return partition
  }

  @Test(
    "M6: counting requests that were not counted reads the decisions of the batches concerned, in rows and in packs",
    arguments: [RequestCounts.countAgain, RequestCounts.countKeylessAgain])
  func counting(statement: String) async throws {
    let partition = try await grown()
    let batches = try UncountedBatches(AdSelection.schema, 0, partition.database)
    let whole = try QueryPlan.ofDryRun(statement, batches.unbounded, partition.database)
    #expect(whole.rowsThrownAway > 2_000 && whole.days > 3, "it would be seen")
    let plan = try QueryPlan(statement, batches.bounded, partition.database)
    // Of the own decisions those that the other of the two statements counts.
    #expect(plan.rowsThrownAway <= 24 && plan.days <= 2, "\(plan.lines.joined(separator: "\n"))")
    #expect(plan.rows("on decision_row") <= 4 && plan.rows("on decision_pack") == 1)
    let isOfApps = statement == RequestCounts.countAgain
    let counted = try partition.database.query(
      isOfApps
        ? "SELECT sum(requests)::bigint FROM ad_selection.all_count"
        : "SELECT sum(requests)::bigint FROM ad_selection.keyless_count")
    #expect(try counted.map { try $0.decode(0, Int64.self) } == [isOfApps ? 22 : 2])
  }

  @Test("A2, D2: what a new owner must know of decisions, and of test requests, is asked of the days that can have it")
  func opening() async throws {
    let partition = try await grown()
    let now = partition.clock.now()
    let find = FindRecentDecisions(partition: 0, memoryMilliseconds: 75_000, now: now)
    let read = ReadRecentDecisions(partition: 0, ranges: try #require(try partition.database.run(find).first))
    let decisions = try QueryPlan(ReadRecentDecisions.sql, read.parameters, partition.database)
    // Tables are made for the three days that follow, and the latest decisions have no end.
    #expect(decisions.days <= 5, "\(decisions.lines.joined(separator: "\n"))")
    let count = CountTestRequests(partition: 0, day: TestSequence.day(of: now))
    #expect(try QueryPlan(CountTestRequests.sql, count.parameters, partition.database).days == 1)
    _ = try partition.ask(try (31...33).map { try partition.network.request($0, at: now, key: "test") })
    let yesterday = CountTestRequests(partition: 0, day: TestSequence.day(of: now) - 1)
    #expect(try partition.database.run(count).map(\.requests).reduce(0, +) == 3)
    #expect(try partition.database.run(yesterday).isEmpty)
  }
}
