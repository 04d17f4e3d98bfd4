import AdCore
import AdEvents
import ClickTrackingCore
import Pipeline
import PipelineHost
import Postgres
import Runtime
import TestServices
import TestValues
import Testing

@testable import ClickTracking

/// What is read to open a partition must not grow with what lies beside it.
@Suite("Clicks of batches")
struct RowsOfBatchesTests {
  private let now = SystemClock().now

  /// An ad that was seen, with a tap on it: each of another client.
  private func tapped(_ serve: UInt64, _ kind: TapKind = .click, hoursAgo: Int64 = 1) -> [ClickInput] {
    let terms = ServedTerms.sample(
      serve: serve, partition: ClickPartition.number, issuedAt: now.advanced(byMilliseconds: -hoursAgo * 3_600_000)
    ) { $0.clientHash = serve }
    let seen = terms.issuedAt.advanced(byMilliseconds: 1_000)
    return [
      .impression(AcceptedImpression(terms: terms, eventTime: seen, arrival: terms.issuedAt)),
      .action(
        ActionEvent(
          kind: kind, terms: terms, age: .milliseconds(3_000), claimedTime: nil, idHash: serve,
          actionMilliseconds: 0, leftApplication: true)),
    ]
  }

  /// A partition with three clicks in two batches and with two stopped actions, beside many of each.
  ///
  /// - Parameters:
  ///   - copies: of each row, around its time.
  ///   - more: writes rows that have neighbours, too.
  private func grown(
    copies: Int = 2_000, _ more: (ClickPartition) throws -> Void = { _ in }
  ) async throws -> ClickPartition {
    let partition = try await ClickPartition(now: now)
    try partition.run(tapped(1) + tapped(2, .blocked))
    try partition.run(tapped(3) + tapped(4, .cancelled) + tapped(5))
    try more(partition)
    for table in ["click_tracking.click_row", "click_tracking.stopped_action"] {
      try NeighbourRows.add(copies, to: table, partition.connection)
    }
    try partition.connection.executeScript("ANALYZE click_tracking.terms, click_tracking.batch")
    return partition
  }

  @Test("M6: counting taps that were not counted reads those of the batches concerned, stopped ones too")
  func counting() async throws {
    let partition = try await grown()
    let batches = try UncountedBatches(ClickTracking.schema, ClickPartition.number, partition.connection)
    let whole = try QueryPlan.ofDryRun(TapCounts.countAgain, batches.unbounded, partition.connection)
    #expect(whole.rowsThrownAway > 9_000 && whole.days > 3, "it would be seen")
    let plan = try QueryPlan(TapCounts.countAgain, batches.bounded, partition.connection)
    #expect(plan.rowsThrownAway <= 5 && plan.days <= 2, "\(plan.lines.joined(separator: "\n"))")
    #expect(plan.rows("on click_row") == 3 && plan.rows("on stopped_action") == 2)
    #expect(try partition.count("SELECT sum(events)::bigint FROM click_tracking.all_count") == 5)
  }

  @Test("publishing again reads the rows of the batches concerned, whatever other partitions have")
  func publishing() async throws {
    let partition = try await grown()
    let stored = try stored(partition, from: 2, limit: 100)
    let unbounded = Array(stored.parameters.prefix(5)) + UncountedBatches.everything
    let whole = try QueryPlan(ReadClicks.sql, unbounded, partition.connection)
    #expect(whole.rowsThrownAway > 2_000 && whole.days > 3, "it would be seen")
    let plan = try QueryPlan(ReadClicks.sql, stored.parameters, partition.connection)
    #expect(plan.rowsThrownAway <= 3 && plan.days <= 2, "\(plan.lines.joined(separator: "\n"))")
    #expect(try sequences(partition, from: 2, limit: 100) == [2, 3])
  }

  @Test("M6: taps that come most of a day late are found by their own keys, and no more is read for them")
  func late() async throws {
    // So many that no day has few: one that has is read whole more cheaply than by its keys.
    let partition = try await grown(copies: 5_000) { partition in
      try partition.run(tapped(6) + tapped(7, hoursAgo: 20))
      try partition.run(tapped(8, .blocked, hoursAgo: 20))
      // Its impression does not come: it is decided as time passes, in a batch without a record.
      try partition.run(Array(tapped(9, hoursAgo: 20).suffix(1)))
      try partition.run([.watermark])
      try partition.tick()
    }
    try partition.connection.executeScript("SET enable_seqscan = off")
    let again = try QueryPlan(
      ReadClicks.sql, stored(partition, from: 2, limit: 100).parameters, partition.connection)
    #expect(again.rowsThrownAway <= 3 && again.days <= 3, "\(again.lines.joined(separator: "\n"))")
    #expect(try sequences(partition, from: 2, limit: 100) == [2, 3, 4, 5, 6])
    let batches = try UncountedBatches(ClickTracking.schema, ClickPartition.number, partition.connection)
    let plan = try QueryPlan(TapCounts.countAgain, batches.bounded, partition.connection)
    #expect(plan.rowsThrownAway <= 5 && plan.days <= 3, "\(plan.lines.joined(separator: "\n"))")
    #expect(try partition.count("SELECT sum(events)::bigint FROM click_tracking.all_count") == 9)
  }

  /// One that reads all that is left, for each of its small parts, never catches up.
  @Test("who is far behind reads the rows of the batches that it publishes next, not all that are left")
  func farBehind() async throws {
    let partition = try await ClickPartition(now: now)
    for batch in 0..<40 {
      try partition.run((1...5).flatMap { tapped(UInt64(5 * batch + $0)) })
    }
    try partition.connection.executeScript("ANALYZE click_tracking.click_row, click_tracking.batch")
    let plan = try QueryPlan(
      ReadClicks.sql, stored(partition, from: 12, limit: 10).parameters, partition.connection)
    #expect((10...20).contains(plan.rows("on click_row")), "\(plan.lines.joined(separator: "\n"))")
    #expect(try sequences(partition, from: 12, limit: 10) == Array(12...21))
    #expect(try sequences(partition, from: 196, limit: 10) == Array(196...200))
  }

  private func stored(_ partition: ClickPartition, from: Int64, limit: Int) throws -> SequenceRows {
    let found = try SequenceRows.find(
      ClickPartition.number, from: from, limit: limit, schema: ClickTracking.schema, in: partition.connection)
    return try #require(found)
  }

  private func sequences(_ partition: ClickPartition, from: Int64, limit: Int) throws -> [Int64] {
    let tables = ClickTables(windows: Windows())
    let found = try tables.messages(
      partition: ClickPartition.number, output: 0, from: from, limit: limit, in: partition.connection)
    return found.flatMap { Array($0.firstSequence...$0.sequence) }
  }
}
