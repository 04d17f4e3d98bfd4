import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Pipeline
import Postgres
import TestValues

/// Impressions tracked per second where every batch holds an old, valid token once more, beside the same feed without;
/// and what a flood of garbage adds to the disk, beside its bound.
///
/// Each feed is a backlog that a fresh process reads: it knows none of the ids from memory, so that a token sent again
/// makes it look for all of them in the table.
struct ReplayBenchmark {
  let surroundings: Surroundings
  /// Of one feed.
  let impressions: Int
  private static let rounds = 4
  /// In each partition every so many records one is a replay: several in each full batch.
  private static let replayEvery = 2_000

  func run() throws -> [BenchmarkResult] {
    let ring = try KeyRing(configuration: Surroundings.keys)
    var workload = try Workload(partitions: Surroundings.partitions, ring: ring, seed: 2)
    var old = try feed(&workload, replayed: [])
    var clean: [Double] = []
    var replayed: [Double] = []
    _ = try rate(records: impressions)
    // Whichever comes first in a round has a rested machine: they take turns.
    for round in 0..<Self.rounds {
      progress("replays, round \(round + 1) of \(Self.rounds)")
      for isClean in [round % 2 == 0, round % 2 == 1] {
        let next = try feed(&workload, replayed: isClean ? [] : old)
        let records = impressions + (isClean ? 0 : impressions / Self.replayEvery)
        if isClean { clean.append(try rate(records: records)) } else { replayed.append(try rate(records: records)) }
        old = next
      }
    }
    let duplicates = try duplicateCount()
    guard duplicates == Self.rounds * (impressions / Self.replayEvery) else {
      throw SupervisionError.unavailable(what: "replays", hint: "\(duplicates) were told as duplicates")
    }
    return [
      BenchmarkResult(
        "impressions tracked, an old token again in every batch", median(replayed), "events/s",
        limit: ("the same without", median(clean)))
    ] + (try flood())
  }

  /// Puts a feed into the topic; every so often with one of the events of an earlier feed.
  private func feed(_ workload: inout Workload, replayed old: [ServedTerms]) throws -> [ServedTerms] {
    let producer = try KafkaProducer(configuration: surroundings.kafkaConfiguration) { _ in }
    defer { producer.close(timeoutMilliseconds: 60_000) }
    try producer.warmUp(topics: [Topic.impressions.name], timeoutMilliseconds: 10_000)
    var all: [ServedTerms] = []
    let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    func send(_ terms: ServedTerms) throws {
      try producer.send(
        topic: Topic.impressions.name, partition: terms.partition, key: nil,
        value: Workload.viewed(workload.token(terms)),
        headers: Workload.headers(.impressionViewed, id: terms.serveID), reportID: 0, timeoutMilliseconds: 60_000)
    }
    while all.count < impressions {
      let issuedAt = now.advanced(byMilliseconds: Int64(10_000 * all.count / impressions) - 12_000)
      guard let terms = workload.terms(issuedAt: issuedAt) else { continue }
      try send(terms)
      all.append(terms)
      if !old.isEmpty, all.count % Self.replayEvery == 0 { try send(old[all.count % old.count]) }
    }
    return all
  }

  /// Events per second of a fresh process, from the first batch's commit to the last one's.
  private func rate(records: Int) throws -> Double {
    let connection = try PostgresConnection(PostgresConfiguration(surroundings.databaseURL))
    defer { connection.close() }
    try connection.executeScript("CHECKPOINT")
    let began: Int64 = try connection.query(Self.batches, [Int64(0)])[0].decode(2)
    let service = try surroundings.service("handbill-impression-tracking", adminPort: try FreePort.find(count: 1)[0])
    defer { service.terminate(graceMilliseconds: 10_000) }
    let deadline = Date(timeIntervalSinceNow: 300)
    while Date() < deadline {
      let row = try connection.query(Self.batches, [began])[0]
      let done: Int64 = try row.decode(0)
      if done >= Int64(records) { return try row.decode(1) }
      poll(nil, 0, 250)
    }
    throw SupervisionError.unavailable(what: "\(records) records", hint: "they were not tracked within 300 s")
  }

  /// How many records were duplicates.
  private func duplicateCount() throws -> Int {
    let connection = try PostgresConnection(PostgresConfiguration(surroundings.databaseURL))
    defer { connection.close() }
    let batches = try connection.query("SELECT outcomes FROM impression_tracking.batch WHERE length(outcomes) > 0")
    return try batches.reduce(0) { count, row in
      count + (try row.decode(0, [UInt8].self)).count { $0 == Outcome.duplicate.rawValue }
    }
  }

  /// Of the batches since a moment: their records, those per second, and the last one's moment in microseconds.
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

  // MARK: A flood

  private static let floodRecords = 500_000
  private static let garbageBytes = 400
  /// What a row, its key, header and index entry take besides the original bytes, generously.
  private static let rowBytes = 600

  /// Garbage, and what it left on the disk. Kept are, per partition and minute, so many bytes and rows; each is in the
  /// table, and was in the outbox until it was delivered.
  private func flood() throws -> [BenchmarkResult] {
    progress("a flood of \(Self.floodRecords) pieces of garbage")
    let connection = try PostgresConnection(PostgresConfiguration(surroundings.databaseURL))
    defer { connection.close() }
    let before = try diskBytes(connection)
    let minute = Date().timeIntervalSince1970 / 60
    let producer = try KafkaProducer(configuration: surroundings.kafkaConfiguration) { _ in }
    try producer.warmUp(topics: [Topic.impressions.name], timeoutMilliseconds: 10_000)
    var random = SeededChance(seed: 3)
    for number in 0..<Self.floodRecords {
      let garbage = (0..<Self.garbageBytes / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
      try producer.send(
        topic: Topic.impressions.name, partition: Int32(number) % Surroundings.partitions, key: nil, value: garbage,
        reportID: 0, timeoutMilliseconds: 60_000)
    }
    producer.close(timeoutMilliseconds: 60_000)
    let rate = try rate(records: Self.floodRecords)
    let minutes = Int(Date().timeIntervalSince1970 / 60) - Int(minute) + 1
    let added = try diskBytes(connection) - before
    let places = Int(Surroundings.partitions) * minutes
    let perPlace =
      2 * (RejectionLimit.bytesPerMinuteMaximum + RejectionLimit.recordsPerMinuteMaximum * Self.rowBytes)
    // One byte of outcome for each record.
    let bound = places * perPlace + 2 * Self.floodRecords
    return [
      BenchmarkResult("garbage rejected", rate, "records/s"),
      BenchmarkResult(
        "what that flood of \((Self.floodRecords * Self.garbageBytes) >> 20) MiB added to the disk",
        Double(added) / 1_048_576,
        "MiB", limit: ("its bound", Double(bound) / 1_048_576)),
    ]
  }

  private func diskBytes(_ connection: PostgresConnection) throws -> Int {
    let sql = """
      SELECT sum(pg_total_relation_size(format('impression_tracking.%I', name)::regclass))::bigint
      FROM unnest(ARRAY['rejected', 'outbox', 'batch', 'input']) AS name
      """
    return Int(try connection.query(sql)[0].decode(0, Int64.self))
  }
}
