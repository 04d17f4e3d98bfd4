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
    let now = partition.clock.now
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
    let now = partition.clock.now
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

  @Test("I5: what allotments have used is found by an index, also while they are few, and is no more than there is")
  func uses() async throws {
    let partition = try await SelectionPartition()
    try partition.database.executeScript(
      """
      INSERT INTO ad_selection.allotment
        (id, partition, ordinal, campaign, budget_day, amount, serve_until, batch_number, click_rates)
      SELECT n, 0, n, 'used', 20000, 1000, now() + interval '1 hour', 1, '' FROM generate_series(1001, 1009) AS n;
      ANALYZE ad_selection.allotment
      """)
    let before = try scans(partition.database)
    let uses: [UInt64: AllotmentUse] = [
      1_001: AllotmentUse(total: Nanos(7), forClicks: Nanos(2)),
      1_008: AllotmentUse(total: Nanos(1_000), forClicks: .zero),
    ]
    _ = try partition.database.run(UseAllotments(partition: 0, used: uses))
    let refusal = #expect(throws: PostgresError.self) {
      _ = try partition.database.run(
        UseAllotments(partition: 0, used: [1_002: AllotmentUse(total: Nanos(1_001), forClicks: .zero)]))
    }
    #expect(refusal?.description.contains("allotment_used") == true)
    #expect(try scans(partition.database) == before)
    let stored = try partition.database.query(
      "SELECT id, used, used_for_clicks FROM ad_selection.allotment WHERE campaign = 'used' AND used > 0 ORDER BY id"
    ).map { [try $0.decode(0, Int64.self), try $0.decode(1), try $0.decode(2)] }
    #expect(stored == [[1_001, 7, 2], [1_008, 1_000, 0]])
  }

  /// How often the table of allotments was read without an index.
  private func scans(_ connection: PostgresConnection) throws -> Int64 {
    _ = try connection.query("SELECT pg_stat_force_next_flush()")
    return try connection.query(
      "SELECT seq_scan FROM pg_stat_user_tables WHERE relid = 'ad_selection.allotment'::regclass")[0].decode(0)
  }
}
