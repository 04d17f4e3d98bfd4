import AdEvents
import Kafka
import LocalProcesses
import Postgres
import Runtime
import TestValues

/// How long impression tracking takes from the start of its process until it has all partitions and what was not
/// confirmed is published again: with nothing stored, and with a history of millions of rows beside it, and the tables of as
/// many days as are kept by default. One partition was added late: its few batches have the numbers of the others' first ones.
struct TakeoverBenchmark {
  let surroundings: Surroundings
  /// Impressions stored, in all partitions together.
  let rows: Int64
  /// Days that have tables: as many as are kept by default.
  private static let days: Int32 = 400
  /// Impressions of the partition that was added late.
  private static let lateRows: Int64 = 10_000
  private static let batchRows: Int64 = 2_000
  /// Impressions of each partition that Kafka has not confirmed: they are one run, and so one record.
  private static let unconfirmed: Int64 = 125
  /// How long storing the history may take.
  private static let storingMilliseconds = 1_800_000
  private static let empty = "takeover with an empty history"
  private static let full = "takeover with a history"

  func run() throws -> [BenchmarkResult] {
    let database = surroundings.historyURL
    let connection = try PostgresConnection(PostgresConfiguration(database))
    defer { connection.close() }
    var rounds = Rounds()
    for round in 1...Rounds.count {
      progress("takeover, nothing stored, round \(round) of \(Rounds.count)")
      rounds.note(Self.empty, try takeOver(database, connection, republishes: false))
    }
    progress("storing \(rows) impressions")
    try makeDays(connection)
    try store(connection)
    for round in 1...Rounds.count {
      progress("takeover, \(rows) impressions stored, round \(round) of \(Rounds.count)")
      try connection.executeScript(
        """
        UPDATE impression_tracking.partition
        SET confirmed_sequences = ARRAY[next_sequences[1] - 1 - \(Self.unconfirmed)]
        """)
      rounds.note(Self.full, try takeOver(database, connection, republishes: true))
    }
    return [
      rounds.result(Self.empty, "ms"), rounds.result(Self.full, "ms", beside: Self.empty),
      BenchmarkResult("takeover, impressions stored", Double(rows), "rows"),
    ]
  }

  /// Milliseconds from the start of a process until it has all partitions and, where it `republishes`, each has a record
  /// more: watermarks go out behind what is published again, and not before.
  private func takeOver(_ database: String, _ connection: PostgresConnection, republishes: Bool) throws -> Double {
    let epochs = try epochs(connection) + Int64(Surroundings.partitions)
    let probe = try KafkaTopicProbe(configuration: surroundings.kafkaConfiguration)
    defer { probe.close(timeoutMilliseconds: 1_000) }
    let ends = try ends(probe).map { republishes ? $0 + 1 : $0 }
    let port = try FreePort.find(count: 1)[0]
    var service: ChildProcess?
    defer { service?.terminate(graceMilliseconds: 10_000) }
    let time = try seconds {
      service = try surroundings.service(
        "handbill-impression-tracking", adminPort: port, settings: ["HANDBILL_DATABASE_URL": database])
      let isDone = try Waiting.until(seconds: 300) {
        try self.epochs(connection) >= epochs && zip(self.ends(probe), ends).allSatisfy { $0 >= $1 }
      }
      guard isDone else {
        throw SupervisionError.unavailable(what: "the takeover", hint: "it had not ended after 300 s")
      }
    }
    return time * 1_000
  }

  private func epochs(_ connection: PostgresConnection) throws -> Int64 {
    try connection.query("SELECT coalesce(sum(epoch), 0)::bigint FROM impression_tracking.partition")[0].decode(0)
  }

  /// How many records each partition of the topic of accepted impressions has had.
  private func ends(_ probe: KafkaTopicProbe) throws -> [Int64] {
    let places = (0..<Surroundings.partitions).map {
      KafkaTopicPartition(topic: Topic.acceptedImpressions.name, partition: $0)
    }
    return try probe.bounds(of: places, timeoutMilliseconds: 10_000).map(\.end)
  }

  private func makeDays(_ connection: PostgresConnection) throws {
    for table in ["impression_row", "delivery_row", "delivery_pack", "failure"] {
      _ = try connection.query(
        "SELECT public.keep_days('impression_tracking.\(table)', current_date, $1, 3, $1)", [Self.days])
    }
  }

  /// Rows as the service makes them: ids of the last hours, in order, the partitions' batches in turn.
  private func store(_ connection: PostgresConnection) throws {
    let late = Surroundings.partitions - 1
    try connection.executeScript(
      """
      SET statement_timeout = \(Self.storingMilliseconds);
      CREATE TEMPORARY TABLE history AS
      SELECT n, n % \(late) AS partition, n / \(late) AS sequence FROM generate_series(0, \(rows - 1)::bigint) AS n
      UNION ALL
      SELECT \(rows) + n, \(late), n FROM generate_series(0, \(Self.lateRows - 1)::bigint) AS n;

      INSERT INTO impression_tracking.terms (name, last_day, app, developer, advertiser, campaign, ad, impression_price,
        click_price, currency, share_basis_points, life_ms, is_test)
      SELECT n, current_date, 'app-' || n % 16, 'dev-1', 'adv-' || n % 10, 'camp-' || n % 50, 'ad-' || n % 100, 10000000,
        2000000000, 'USD', 6000, 900000, false
      FROM generate_series(0, 399) AS n;
      INSERT INTO impression_tracking.impression_row (serve_id, partition, batch_number, sequence, event_time, arrival,
        terms, placement, country, device, size, allotment, budget_day, client_hash, is_test)
      SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 14400000 + n / 1000), 12, '0') || '70008'
          || lpad(to_hex(n), 15, '0'))::uuid,
        partition, 1 + sequence / \(Self.batchRows), 1 + sequence, now(), now(), n % 400, 'home', 'US', 1, 1, 1, 20000, n,
        false
      FROM history;

      INSERT INTO impression_tracking.batch (partition, batch_number, committed_at, watermark, input_topics,
        first_offsets, next_offsets, output_topics, first_sequences, next_sequences, outcomes, first_serve_id,
        last_serve_id)
      SELECT partition, batch_number, now(), now(), '{}', '{}', '{}', ARRAY['\(Topic.acceptedImpressions.name)'],
        ARRAY[min(sequence)], ARRAY[max(sequence) + 1], '', min(serve_id::text)::uuid, max(serve_id::text)::uuid
      FROM impression_tracking.impression_row GROUP BY partition, batch_number;

      INSERT INTO impression_tracking.counted (partition, batch_number)
      SELECT partition, max(batch_number) - 2 FROM impression_tracking.batch GROUP BY partition
      ON CONFLICT (partition) DO UPDATE SET batch_number = excluded.batch_number;
      UPDATE impression_tracking.partition p SET batch_number = b.last, next_sequences = ARRAY[b.next],
        confirmed_sequences = ARRAY[b.next - 1]
      FROM (
        SELECT partition, max(batch_number) AS last, max(next_sequences[1]) AS next FROM impression_tracking.batch
        GROUP BY partition
      ) AS b
      WHERE p.partition = b.partition;
      DROP TABLE history;
      ANALYZE;
      CHECKPOINT;
      """, silenceLimitMilliseconds: Self.storingMilliseconds)
  }
}
