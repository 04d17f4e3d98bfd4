import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Postgres
import Runtime
import TestValues

/// Backlogs of views in `ads.impressions`, and how fast a fresh impression tracking decides one.
struct TrackingFeed {
  let surroundings: Surroundings
  private var workload: Workload

  /// In each partition every so many records one is a replay: several in each full batch.
  static let replayEvery = 2_000

  init(surroundings: Surroundings, seed: UInt64) throws {
    self.surroundings = surroundings
    workload = try Workload(
      partitions: Surroundings.partitions, ring: try KeyRing(configuration: Surroundings.keys), seed: seed)
  }

  /// Puts views into the topic, in the partitions that their tokens name; every so often one of an earlier feed's again.
  mutating func fill(_ impressions: Int, replaying old: [ServedTerms] = []) throws -> [ServedTerms] {
    let producer = try KafkaProducer(configuration: surroundings.kafkaConfiguration) { _ in }
    defer { producer.close(timeoutMilliseconds: 60_000) }
    try producer.warmUp(topics: [Topic.impressions.name], timeoutMilliseconds: 10_000)
    var all: [ServedTerms] = []
    all.reserveCapacity(impressions)
    let now = SystemClock().now
    while all.count < impressions {
      // Issued over the last ten seconds, in order, as traffic would be.
      let issuedAt = now.advanced(byMilliseconds: Int64(10_000 * all.count / impressions) - 12_000)
      guard let terms = workload.terms(issuedAt: issuedAt) else { continue }
      try send(terms, to: producer)
      all.append(terms)
      if !old.isEmpty, all.count % Self.replayEvery == 0 { try send(old[all.count % old.count], to: producer) }
    }
    return all
  }

  private func send(_ terms: ServedTerms, to producer: KafkaProducer) throws {
    try producer.send(
      topic: Topic.impressions.name, partition: terms.partition, key: Array(Workload.client(of: terms.serveID).utf8),
      value: Workload.viewed(workload.token(terms)),
      headers: Workload.headers(.impressionViewed, id: terms.serveID), reportID: 0, timeoutMilliseconds: 60_000)
  }

  /// What a fresh process made of a backlog.
  struct Tracked {
    /// From the first batch's commit to the last one's.
    var recordsPerSecond: Double
    /// Processor time of each record, by process.
    var microseconds: [(process: String, each: Double)]
    /// The most that the service held.
    var mebibytes: Double
  }

  /// Starts a process and waits until it has decided `records` records. It knows none of the ids from memory.
  func track(records: Int) throws -> Tracked {
    let connection = try PostgresConnection(PostgresConfiguration(surroundings.databaseURL))
    defer { connection.close() }
    try connection.executeScript("CHECKPOINT")
    let began: Int64 = try connection.query(Self.batches, [Int64(0)])[0].decode(2)
    let service = try surroundings.service("handbill-impression-tracking", adminPort: try FreePort.find(count: 1)[0])
    defer { service.terminate(graceMilliseconds: 10_000) }
    let times = surroundings.processorTimes(of: [("the service", service)])
    var rate = 0.0
    let isDone = try Waiting.until(seconds: 300) {
      let row = try connection.query(Self.batches, [began])[0]
      rate = try row.decode(1)
      return try row.decode(0, Int64.self) >= Int64(records)
    }
    guard isDone else {
      throw SupervisionError.unavailable(what: "\(records) records", hint: "they were not tracked within 300 s")
    }
    return Tracked(
      recordsPerSecond: rate, microseconds: times.map { ($0.process, $0.time.microseconds / Double(records)) },
      mebibytes: try ResidentMemory(of: service).highest)
  }

  /// Of the batches since a moment: their records, those per second, and the last one's moment in microseconds. It reads
  /// the rows of batches alone, which are few beside those of events.
  private static let batches = """
    WITH done AS (
      SELECT committed_at, length(outcomes) AS records, min(committed_at) OVER () AS first,
        max(committed_at) OVER () AS last
      FROM impression_tracking.batch
      WHERE length(outcomes) > 0 AND committed_at > to_timestamp($1::float8 / 1000000) + interval '1 millisecond')
    SELECT coalesce(sum(records), 0)::bigint,
      coalesce(sum(records) FILTER (WHERE committed_at > first)
        / nullif(extract(epoch FROM max(last) - min(first)), 0), 0)::float8,
      coalesce(extract(epoch FROM max(last)) * 1000000, 0)::bigint FROM done
    """
}
