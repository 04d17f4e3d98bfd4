import AdCore
import AdEvents
import ImpressionTrackingCore
import Pipeline
import Postgres
import Runtime
import TestValues
import Testing

@testable import ImpressionTracking

@Suite struct RetentionTests {
  /// Six batches of one impression each.
  private func partition() async throws -> ImpressionPartition {
    let partition = try await ImpressionPartition()
    for serve in 1...6 as ClosedRange<UInt64> { try partition.run([partition.event(.viewed, serve)]) }
    return partition
  }

  @Test("Impressions whose rows retention took before they were published are told as lost, once, and recorded")
  func lostRows() async throws {
    let partition = try await partition()
    partition.published.take()
    try partition.connection.executeScript("DELETE FROM impression_tracking.impression WHERE sequence IN (1, 2, 4, 6)")
    try partition.takeOver()
    #expect(partition.published.acceptedImpressions == ["lost 1-2", "3", "lost 4-4", "5"])
    // What follows the last row is looked for when there is nothing else.
    try partition.later(seconds: 1)
    #expect(partition.published.acceptedImpressions.contains("lost 6-6"))
    try partition.later(seconds: 1)
    let lost = try partition.connection.query(
      """
      SELECT format('%s %s %s %s', partition, topic, first_sequence, next_sequence)
      FROM impression_tracking.lost_sequence ORDER BY first_sequence
      """
    ).map { try $0.decode(0, String.self) }
    #expect(
      lost == ["7 ads.impressions.accepted 1 3", "7 ads.impressions.accepted 4 5", "7 ads.impressions.accepted 6 7"])
  }

  @Test("Rows are found behind more batches without rows than are looked into at once")
  func behindEmptyBatches() async throws {
    let partition = try await partition()
    try partition.connection.executeScript("DELETE FROM impression_tracking.impression WHERE sequence < 6")
    let tables = ImpressionTables(windows: Windows())
    let found = try tables.messages(partition: 7, output: 0, from: 1, limit: 2, in: partition.connection)
    #expect(found.map(\.sequence) == [6])
    #expect(try tables.messages(partition: 7, output: 0, from: 7, limit: 2, in: partition.connection).isEmpty)
  }

  @Test("Batches end with retention, with what was rejected and missed then; the last one of a partition stays")
  func batches() async throws {
    let partition = try await partition()
    try partition.connection.executeScript(
      """
      UPDATE impression_tracking.batch SET committed_at = now() - interval '10 days' WHERE batch_number <> 5;
      INSERT INTO sealed.batch VALUES ('impression_tracking', 7, 6);
      INSERT INTO impression_tracking.rejected (partition, topic, record_offset, batch_number, arrival, reason, detail,
        value_length, value_hash) SELECT 7, 'ads.impressions', n, n, now(), 68, '', 0, '' FROM generate_series(1, 6) AS n;
      INSERT INTO impression_tracking.gap_request (partition, topic, number, sequence, noticed_at)
      VALUES (7, 'a', 1, 11, now() - interval '10 days'), (7, 'a', 2, 12, now()),
        (7, 'b', 1, 21, now() - interval '11 days'), (7, 'b', 2, 22, now() - interval '10 days');
      """)
    func forget(_ most: Int32) throws -> Int64 {
      try #require(
        try partition.connection.query(
          "SELECT public.forget_batches('impression_tracking', now() - interval '9 days', $1)", [most]
        ).first?.decode(0))
    }
    #expect(try [forget(3), forget(3), forget(3)] == [3, 1, 0])
    func numbers(_ table: String, _ column: String) throws -> [Int64] {
      try partition.connection.query("SELECT \(column) FROM impression_tracking.\(table) ORDER BY 1")
        .map { try $0.decode(0) }
    }
    #expect(try numbers("batch", "batch_number") == [5, 6])
    #expect(try numbers("rejected", "batch_number") == [5, 6])
    #expect(try numbers("gap_request", "sequence") == [12, 22], "the last of a topic keeps the numbers' place")
    _ = try partition.connection.query("SELECT pipeline.request_gap('impression_tracking', 7, 'b', 23)")
    _ = try partition.connection.query("SELECT pipeline.request_gap('impression_tracking', 7, 'c', 31)")
    #expect(
      try numbers("gap_request WHERE topic = 'b'", "number") == [2, 3]
        && numbers("gap_request WHERE topic = 'c'", "number") == [1])
  }

  @Test("What was rejected in batches that stay is not read when others end")
  func rejectedThatStay() async throws {
    let partition = try await partition()
    try partition.connection.executeScript(
      """
      UPDATE impression_tracking.batch SET committed_at = now() - interval '10 days' WHERE batch_number < 4;
      INSERT INTO sealed.batch VALUES ('impression_tracking', 7, 6);
      INSERT INTO impression_tracking.rejected (partition, topic, record_offset, batch_number, arrival, reason, detail,
        value_length, value_hash)
      SELECT 7, (ARRAY['ads.impressions', 'ads.catalog'])[1 + n % 2], n, n, now(), 68, '', 0, ''
      FROM generate_series(1, 30000) AS n;
      UPDATE impression_tracking.batch SET input_topics = ARRAY['ads.catalog'], next_offsets = '{1}', first_offsets = '{1}'
      WHERE batch_number = 3;
      ANALYZE impression_tracking.rejected;
      """)
    let rowsRead = try partition.connection.transaction { connection throws(PostgresError) in
      _ = try connection.query("SELECT public.forget_batches('impression_tracking', now() - interval '9 days', 100)")
      return try connection.query(
        """
        SELECT (seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_xact_user_tables
        WHERE relname = 'rejected' AND schemaname = 'impression_tracking'
        """)[0].decode(0, Int64.self)
    }
    #expect(rowsRead == 3, "of 30,000 rows \(rowsRead) were read")
    let oldest = try partition.connection.query("SELECT min(batch_number) FROM impression_tracking.rejected")
    #expect(try oldest[0].decode(0, Int64.self) == 4)
  }

  @Test("The batches of a sequence are found by an index, however many there are")
  func index() async throws {
    let partition = try await partition()
    try partition.connection.executeScript(
      """
      INSERT INTO impression_tracking.batch (partition, batch_number, committed_at, watermark, input_topics, first_offsets,
        next_offsets, output_topics, first_sequences, next_sequences, outcomes)
      SELECT 7, n, now(), now(), '{}', '{}', '{}', '{}', ARRAY[n], ARRAY[n + 1], '' FROM generate_series(7, 30000) AS n;
      ANALYZE impression_tracking.batch;
      """)
    let plan = try partition.connection.query(
      """
      EXPLAIN SELECT batch_number FROM impression_tracking.batch
      WHERE partition = 7 AND next_sequences[1] > 29000 AND next_sequences[1] > first_sequences[1]
      ORDER BY next_sequences[1] LIMIT 500
      """
    ).map { try $0.decode(0, String.self) }
    #expect(plan.contains { $0.contains("batch_sequence") }, "\(plan)")
  }
}
