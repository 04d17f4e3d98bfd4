import AdCore
import AdEvents
import ImpressionTrackingCore
import Pipeline
import PipelineHost
import Postgres
import TestServices
import Testing

@testable import ImpressionTracking

/// What is read to open a partition must not grow with what lies beside it.
@Suite struct RowsOfBatchesTests {
  /// A partition with two batches, beside 10,000 impressions of a partition whose batches have the same numbers, which a block
  /// range index of numbers cannot tell apart, and behind 10,000 of its own batches of before.
  private func grown() async throws -> ImpressionPartition {
    let partition = try await ImpressionPartition()
    try partition.connection.executeScript(
      """
      SET statement_timeout = 0;
      -- That of the number, an hour ago.
      CREATE FUNCTION public.serve_id_at(number int) RETURNS uuid LANGUAGE sql AS $function$
        SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 3600000 + number), 12, '0')
          || '70008' || lpad(to_hex(number), 15, '0'))::uuid
      $function$;
      INSERT INTO impression_tracking.impression (serve_id, partition, batch_number, sequence, event_time, arrival,
        expires_at, app, developer, advertiser, campaign, ad, placement, country, device, size, impression_price,
        click_price, currency, share_basis_points, allotment, budget_day, client_hash, is_test)
      VALUES (public.serve_id_at(1), 3, 1, 1, now(), now(), now(), 'a', 'b', 'c', 'd', 'e', 'f', 'US', 1, 1, 1, 1, 'USD',
        1, 1, 1, 1, false);
      INSERT INTO impression_tracking.impression_row
      SELECT copy.* FROM impression_tracking.impression_row AS first, generate_series(2, 10000) AS n,
        jsonb_populate_record(first, jsonb_build_object(
          'serve_id', public.serve_id_at(n), 'sequence', n, 'batch_number', 1 + n % 2)) AS copy
      WHERE first.partition = 3;
      INSERT INTO impression_tracking.impression_row
      SELECT copy.* FROM impression_tracking.impression_row AS first, generate_series(10001, 20000) AS n,
        jsonb_populate_record(first, jsonb_build_object('partition', \(ImpressionPartition.number),
          'serve_id', public.serve_id_at(n), 'sequence', n - 30000, 'batch_number', n / 100 - 300)) AS copy
      WHERE first.partition = 3 AND first.sequence = 1
      -- By no order of ids, as many partitions leave them: so reading all of them looks cheap to the planner.
      ORDER BY md5(n::text);
      RESET statement_timeout;
      """)
    try partition.run([partition.event(.viewed, 1), partition.event(.viewed, 2)])
    try partition.run([partition.event(.viewed, 3), partition.event(.rendered, 3)])
    // As beside millions of rows: the planner reads all of them where it takes what it looks for as anything but few.
    try partition.connection.executeScript(
      """
      ANALYZE impression_tracking.impression_row, impression_tracking.terms;
      SET cpu_tuple_cost = 0.0001; SET cpu_operator_cost = 0.0001; SET cpu_index_tuple_cost = 0.0001;
      """)
    return partition
  }

  private func stored(_ partition: ImpressionPartition, from: Int64, limit: Int) throws -> SequenceRows {
    let found = try SequenceRows.find(
      ImpressionPartition.number, from: from, limit: limit, schema: ImpressionTracking.schema, in: partition.connection)
    return try #require(found)
  }

  @Test("publishing again reads the rows of the batches concerned, whatever other partitions have")
  func publishing() async throws {
    let partition = try await grown()
    let plan = try QueryPlan(
      ReadImpressions.sql, stored(partition, from: 2, limit: 100).parameters, partition.connection)
    #expect(plan.rowsThrownAway <= 3 && plan.days <= 2, "\(plan.lines.joined(separator: "\n"))")
    let tables = ImpressionTables(windows: .init())
    let found = try tables.messages(partition: 7, output: 0, from: 2, limit: 100, in: partition.connection)
    #expect(found.flatMap { Array($0.firstSequence...$0.sequence) } == [2, 3])
  }

  /// Else it would be all rows of that day, of all partitions.
  @Test("M6: an event that comes most of a day late is found by its own key, be it among others or alone in its batch")
  func late() async throws {
    let partition = try await grown()
    try partition.run([partition.event(.viewed, 4), partition.event(.viewed, 5, hoursAgo: 20)])
    try partition.run([partition.event(.viewed, 6, hoursAgo: 19)])
    // A day with few rows is read whole more cheaply than by its keys: how many lie on which day is chance.
    try partition.connection.executeScript("SET enable_seqscan = off")
    let again = try QueryPlan(
      ReadImpressions.sql, stored(partition, from: 2, limit: 100).parameters, partition.connection)
    // Each row's terms are looked for among the two that there are.
    #expect(again.rowsThrownAway <= 6 && again.days <= 3, "\(again.lines.joined(separator: "\n"))")
    let found = try ImpressionTables(windows: .init())
      .messages(partition: 7, output: 0, from: 2, limit: 100, in: partition.connection)
    #expect(found.flatMap { Array($0.firstSequence...$0.sequence) } == [2, 3, 4, 5, 6])
    let batches = try UncountedBatches(ImpressionTracking.schema, ImpressionPartition.number, partition.connection)
    let plan = try QueryPlan(ImpressionCounts.countAgain, batches.bounded, partition.connection)
    #expect(plan.rowsThrownAway <= 3 && plan.days <= 4, "\(plan.lines.joined(separator: "\n"))")
    #expect(try partition.counts() == ["1 -1 summer 1", "2 -1 summer 6"])
  }

  /// Sealing asks for the lowest, and a program of before knows no named ones.
  @Test("a batch's row tells the lowest and the highest id of all, those that are named, and the lowest of the others")
  func keys() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1), partition.event(.viewed, 2)])
    try partition.run([partition.event(.viewed, 3), partition.event(.viewed, 4, hoursAgo: 20)])
    try partition.run([partition.event(.viewed, 5, hoursAgo: 19)])
    let rows = try partition.connection.query(
      """
      SELECT concat_ws(' ', public.ms_of(first_serve_id) - $1, public.ms_of(last_serve_id) - $1,
        coalesce((public.ms_of(recent_serve_id) - $1)::text, '-'),
        coalesce((public.ms_of(named_serve_ids[1]) - $1)::text, '-'), cardinality(named_serve_ids))
      FROM impression_tracking.batch ORDER BY batch_number
      """, [partition.start.milliseconds])
    let hour: Int64 = 3_600_000
    #expect(
      try rows.map { try $0.decode(0, String.self) } == [
        "0 0 - -", "\(-20 * hour) 0 0 \(-20 * hour) 1", "\(-19 * hour) \(-19 * hour) - \(-19 * hour) 1",
      ])
  }

  /// One that reads all that is left, for each of its small parts, never catches up.
  @Test("who is far behind reads the rows of the batches that it publishes next, not all that are left")
  func farBehind() async throws {
    let partition = try await ImpressionPartition()
    for batch in 0..<40 {
      try partition.run(try (1...5).map { try partition.event(.viewed, UInt64(5 * batch + $0)) })
    }
    try partition.connection.executeScript("ANALYZE impression_tracking.impression_row, impression_tracking.batch")
    let plan = try QueryPlan(
      ReadImpressions.sql, stored(partition, from: 12, limit: 10).parameters, partition.connection)
    #expect((10...20).contains(plan.rows("on impression_row")))
    let tables = ImpressionTables(windows: .init())
    for (from, limit, expected) in [(12, 10, 12...21), (196, 10, 196...200), (1, 1, 1...1)]
      as [(Int64, Int, ClosedRange<Int64>)]
    {
      let found = try tables.messages(partition: 7, output: 0, from: from, limit: limit, in: partition.connection)
      #expect(found.flatMap { Array($0.firstSequence...$0.sequence) } == Array(expected))
    }
  }

  @Test("a batch's rows lie in the order of their serve ids, and its sequences in that of its records")
  func order() async throws {
    let partition = try await ImpressionPartition()
    try partition.run(try [5, 2, 4, 1, 3].map { try partition.event(.viewed, $0) })
    let rows = try partition.connection.query(
      """
      SELECT row_number() OVER (ORDER BY ctid) = row_number() OVER (ORDER BY serve_id),
        sequence = (ARRAY[4, 2, 5, 3, 1])[row_number() OVER (ORDER BY serve_id)]
      FROM impression_tracking.impression_row
      """)
    #expect(try rows.map { try $0.decode(0, Bool.self) } == [true, true, true, true, true])
    #expect(try rows.map { try $0.decode(1, Bool.self) } == [true, true, true, true, true])
  }

  @Test("M6: counting what was not counted reads the rows of the batches concerned")
  func counting() async throws {
    let partition = try await grown()
    let batches = try UncountedBatches(ImpressionTracking.schema, ImpressionPartition.number, partition.connection)
    let plan = try QueryPlan(ImpressionCounts.countAgain, batches.bounded, partition.connection)
    // Requests may have been made a day and two hours before what tells of them, or as much behind.
    #expect(plan.rowsThrownAway <= 3 && plan.days <= 4, "\(plan.lines.joined(separator: "\n"))")
    #expect(try partition.counts() == ["1 -1 summer 1", "2 -1 summer 3"])
  }
}
