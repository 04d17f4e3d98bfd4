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

  /// Such ones lie in packs, too, of a minute each: found by the packs' keys they are whole, and none is found twice. The pack
  /// reaches over the lowest of the clicks that their batch cannot name.
  @Test("M6: charges of ads that were served hours before are found by their own keys, each once")
  func late() async throws {
    let partition = try await grown()
    let connection = try partition.network.connect()
    defer { connection.close() }
    let allotment = try #require(partition.grants.first).allotment
    let minute = (partition.network.now.milliseconds / 60_000 - 360) * 60_000
    func issued(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: minute + milliseconds) }
    try partition.process(
      try (1...20).map { try partition.impression(allotment, price: 1_000, issuedAt: issued($0 * 2_500)) })
    let named = try UncountedBatches(BillingService.schema, 0, after: 1, connection)
    // A day with few rows is read whole more cheaply than by its keys: how many lie on which day is chance.
    try connection.executeScript("SET enable_seqscan = off")
    let plan = try QueryPlan.ofDryRun(RevenueRows.countAgain, named.bounded, connection)
    #expect(plan.rowsThrownAway <= 3 && plan.days <= 3, "\(plan.lines.joined(separator: "\n"))")
    try partition.process(
      try (1...80).map { try partition.click(allotment, price: 1, issuedAt: issued(20_000 + $0)) })
    #expect(
      try partition.network.numbers(
        """
        SELECT cardinality(serve_ids), cardinality(named_serve_ids) FROM billing.charge_pack
        JOIN billing.batch USING (partition, batch_number) WHERE partition = 0 AND batch_number = 4
        """) == [20, 1])
    let batches = try UncountedBatches(BillingService.schema, 0, after: 1, connection)
    _ = try connection.query(RevenueRows.countAgain, batches.bounded)
    let counted = try partition.network.numbers("SELECT sum(events), sum(gross) FROM billing.all_revenue")
    #expect(counted == [124, 40 * 1_000 + 84])
  }

  @Test("a charge that is found by its key is the one that lies between two ids, in every column")
  func columns() async throws {
    let partition = try await grown()
    let connection = try partition.network.connect()
    defer { connection.close() }
    // No two columns of one type with the same in them.
    try connection.executeScript(
      """
      UPDATE billing.charge_pack SET devices = array_fill(2::smallint, ARRAY[cardinality(serve_ids)]),
        sizes = array_fill(5::smallint, ARRAY[cardinality(serve_ids)])
      """)
    let all = """
      SELECT * FROM billing.stored_charges(
        '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      """
    let keyed = """
      SELECT * FROM billing.keyed_charges(0, ARRAY(
        SELECT serve_id FROM billing.charge_row UNION ALL SELECT serve_id FROM billing.charge_pack))
      """
    for (one, other) in [(all + " WHERE partition = 0", keyed), (keyed, all)] {
      #expect(try partition.network.numbers("SELECT count(*) FROM (\(one)) AS one") != [0])
      #expect(try partition.network.numbers("SELECT count(*) FROM (\(one) EXCEPT ALL \(other)) AS lacking") == [0])
    }
  }
}
