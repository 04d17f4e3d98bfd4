import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Postgres
import Runtime

/// Impressions persisted per second by the real service, beside a bare binary COPY of the same rows.
struct TrackingBenchmark {
  let surroundings: Surroundings
  let impressions: Int

  func run() throws -> [BenchmarkResult] {
    progress("making \(impressions) impressions")
    let terms = try fill()
    progress("copying the same rows without a service")
    var bare: [Double] = []
    var keyed: [Double] = []
    let copying = ProcessorTime(surroundings.postgres.processIdentifier ?? 0)
    for _ in 0..<3 { bare.append(try copyRate(terms, withKey: false)) }
    let copied = copying.microseconds / Double(3 * impressions)
    for _ in 0..<3 { keyed.append(try copyRate(terms, withKey: true)) }
    progress("starting impression tracking")
    let port = try FreePort.find(count: 1)[0]
    let service = try surroundings.service("handbill-impression-tracking", adminPort: port)
    let used = [
      ("the service", ProcessorTime(service.processIdentifier)),
      ("PostgreSQL", ProcessorTime(surroundings.postgres.processIdentifier ?? 0)),
      ("Kafka", ProcessorTime(surroundings.kafka.processIdentifier ?? 0)),
    ]
    let rate = try trackedRate()
    let costs = used.map { name, time in
      BenchmarkResult("tracking, processor time of \(name)", time.microseconds / Double(impressions), "us/event")
    }
    let memory = try residentMebibytes(service)
    service.terminate(graceMilliseconds: 10_000)
    let bareRate = median(bare)
    let keyedRate = median(keyed)
    return costs + [
      BenchmarkResult("COPY, processor time of PostgreSQL", copied, "us/row"),
      BenchmarkResult("COPY, same rows, no index", bareRate, "rows/s"),
      BenchmarkResult("COPY, same rows, primary key", keyedRate, "rows/s", limit: ("COPY, no index", bareRate)),
      BenchmarkResult("impressions tracked", rate, "events/s", limit: ("COPY, no index", bareRate)),
      BenchmarkResult("impressions tracked", rate, "events/s", limit: ("COPY, primary key", keyedRate)),
      BenchmarkResult("impression tracking, memory", memory, "MiB"),
    ]
  }

  /// Puts the events into the topic, in the partitions that their tokens name.
  private func fill() throws -> [ServedTerms] {
    let ring = try KeyRing(configuration: Surroundings.keys)
    var workload = try Workload(partitions: Surroundings.partitions, ring: ring, seed: 1)
    let producer = try KafkaProducer(configuration: surroundings.kafkaConfiguration) { _ in }
    defer { producer.close(timeoutMilliseconds: 60_000) }
    try producer.warmUp(topics: [Topic.impressions.name], timeoutMilliseconds: 10_000)
    var all: [ServedTerms] = []
    all.reserveCapacity(impressions)
    let now = SystemClock().now
    while all.count < impressions {
      // Issued over the last minute, in order, as a minute's traffic would be.
      let issuedAt = now.advanced(byMilliseconds: Int64(60_000 * all.count / impressions) - 62_000)
      guard let terms = workload.terms(issuedAt: issuedAt) else { continue }
      try producer.send(
        topic: Topic.impressions.name, partition: terms.partition, key: nil,
        value: Workload.viewed(workload.token(terms)),
        headers: Workload.headers(.impressionViewed, id: terms.serveID), reportID: 0, timeoutMilliseconds: 60_000)
      all.append(terms)
    }
    return all
  }

  /// Rows per second of a COPY of the rows that the service writes, in transactions of 20,000 rows.
  private func copyRate(_ terms: [ServedTerms], withKey: Bool) throws -> Double {
    let connection = try PostgresConnection(PostgresConfiguration(surroundings.databaseURL))
    defer { connection.close() }
    try connection.executeScript(
      """
      DROP TABLE IF EXISTS bare;
      CREATE TABLE bare (LIKE impression_tracking.impression);
      \(withKey ? "ALTER TABLE bare ADD PRIMARY KEY (serve_id);" : "")
      CHECKPOINT;
      """)
    let columns = TableColumns("bare", TermsColumns.names + ["batch_number", "sequence", "event_time", "arrival"])
    let batches = stride(from: 0, to: terms.count, by: 20_000).map { start in
      let rows = TableRows(columns, capacity: 20_000 * 320)
      let buffer = rows.buffer
      for (index, row) in terms[start..<min(start + 20_000, terms.count)].enumerated() {
        rows.begin()
        TermsColumns.append(row, to: buffer)
        buffer.append(int64: Int64(start / 20_000))
        buffer.append(int64: Int64(start + index))
        buffer.append(timestampMicroseconds: row.issuedAt.milliseconds * 1_000 + 1_000_000)
        buffer.append(timestampMicroseconds: row.issuedAt.milliseconds * 1_000 + 2_000_000)
      }
      return rows
    }
    let time = try seconds {
      for rows in batches {
        try connection.begin()
        _ = try connection.copy(rows)
        try connection.commit()
      }
    }
    return Double(terms.count) / time
  }

  /// Events per second from the first batch's commit to the last one's.
  private func trackedRate() throws -> Double {
    let connection = try PostgresConnection(PostgresConfiguration(surroundings.databaseURL))
    defer { connection.close() }
    let deadline = Date(timeIntervalSinceNow: 300)
    let pause = NSCondition()
    while Date() < deadline {
      let done: Int64 = try connection.query("SELECT count(*) FROM impression_tracking.impression")[0].decode(0)
      progress("\(done) of \(impressions) tracked")
      if done >= Int64(impressions) { break }
      pause.lock()
      _ = pause.wait(until: Date(timeIntervalSinceNow: 0.5))
      pause.unlock()
    }
    let row = try connection.query(
      """
      WITH done AS (
        SELECT committed_at, length(outcomes) AS records,
          min(committed_at) OVER () AS first, max(committed_at) OVER () AS last
        FROM impression_tracking.batch WHERE length(outcomes) > 0)
      SELECT sum(records) FILTER (WHERE committed_at > first)::bigint,
        extract(epoch FROM max(last) - min(first))::float8 FROM done
      """)[0]
    let records: Int64 = try row.decode(0)
    let time: Double = try row.decode(1)
    return Double(records) / time
  }
}

func progress(_ text: String) { Terminal.note("bench: \(text)") }
