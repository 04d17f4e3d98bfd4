import AdCore
import AdEvents
import Postgres
import TestServices
import TestValues
import Testing

@testable import AdSelection

/// What is read to open a partition must not grow with what lies beside it.
@Suite("Decisions of batches")
struct RowsOfBatchesTests {
  private static let allBatches = ["0", "0", "100"]

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
    let everything = "'00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'"
    let unbounded = statement.replacing("counting.first_id, counting.last_id", with: everything)
      .replacing("serve_id BETWEEN counting.first_id AND counting.last_id", with: "true")
    let whole = try QueryPlan.ofDryRun(unbounded, Self.allBatches, partition.database)
    #expect(whole.rowsThrownAway > 2_000, "it would be seen")
    let plan = try QueryPlan(statement, Self.allBatches, partition.database)
    // Of the own decisions those that the other of the two statements counts.
    #expect(plan.rowsThrownAway <= 24, "\(plan.lines.joined(separator: "\n"))")
    #expect(plan.rows("on decision_row") <= 4 && plan.rows("on decision_pack") == 1)
    let isOfApps = statement == RequestCounts.countAgain
    let counted = try partition.database.query(
      isOfApps
        ? "SELECT sum(requests)::bigint FROM ad_selection.all_count"
        : "SELECT sum(requests)::bigint FROM ad_selection.keyless_count")
    #expect(try counted.map { try $0.decode(0, Int64.self) } == [isOfApps ? 22 : 2])
  }
}
