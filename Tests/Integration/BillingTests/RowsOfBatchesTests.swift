import AdCore
import AdEvents
import PipelineHost
import Postgres
import TestServices
import Testing

@testable import Billing
@testable import BillingCore

/// What is read to open a partition must not grow with what lies beside it.
@Suite("Charges of batches")
struct RowsOfBatchesTests {
  /// A partition with a pack of 20 impressions and with four charges in rows of their own, beside many of each.
  private func grown() async throws -> BillingPartition {
    let network = try await TestNetwork(hour: 12)
    try network.fund(1_000_000_000_000_000)
    let partition = try BillingPartition(network)
    try partition.process([network.ask(1, used: 1_000_000_000)])
    let allotment = try #require(partition.grants.first).allotment
    try partition.process(try (1...20).map { _ in try partition.impression(allotment, price: 1_000) })
    try partition.process(try (1...4).map { _ in try partition.click(allotment, price: 1) })
    let connection = try network.connect()
    defer { connection.close() }
    try NeighbourRows.add(1_000, to: "billing.charge_row", connection)
    try NeighbourRows.add(200, to: "billing.charge_pack", connection)
    try connection.executeScript("ANALYZE billing.terms, billing.batch")
    return partition
  }

  @Test("M6: counting charges that were not counted reads those of the batches concerned, in rows and in packs")
  func counting() async throws {
    let partition = try await grown()
    let connection = try partition.network.connect()
    defer { connection.close() }
    let batches = try UncountedBatches(BillingService.schema, 0, after: 1, connection)
    let whole = try QueryPlan.ofDryRun(RevenueRows.countAgain, batches.unbounded, connection)
    #expect(whole.rowsThrownAway > 2_000 && whole.days > 3, "it would be seen")
    let plan = try QueryPlan(RevenueRows.countAgain, batches.bounded, connection)
    #expect(plan.rowsThrownAway <= 3 && plan.days <= 2, "\(plan.lines.joined(separator: "\n"))")
    #expect(plan.rows("on charge_row") == 4 && plan.rows("on charge_pack") == 1)
    let counted = try partition.network.numbers("SELECT sum(events), sum(gross) FROM billing.all_revenue")
    #expect(counted == [24, 20 * 1_000 + 4])
  }
}
