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
  private static let clean = "the same without"
  private static let replayed = "impressions tracked, an old token again in every batch"

  func run() throws -> [BenchmarkResult] {
    var feed = try TrackingFeed(surroundings: surroundings, seed: 2)
    var old = try feed.fill(impressions)
    var rounds = Rounds()
    _ = try feed.track(records: impressions)
    // Whichever comes first in a round has a rested machine: they take turns.
    for round in 1...Rounds.count {
      progress("replays, round \(round) of \(Rounds.count)")
      for isClean in [round % 2 == 0, round % 2 == 1] {
        let next = try feed.fill(impressions, replaying: isClean ? [] : old)
        let records = impressions + (isClean ? 0 : impressions / TrackingFeed.replayEvery)
        rounds.note(isClean ? Self.clean : Self.replayed, try feed.track(records: records).recordsPerSecond)
        old = next
      }
    }
    let duplicates = try duplicateCount()
    guard duplicates == Rounds.count * (impressions / TrackingFeed.replayEvery) else {
      throw SupervisionError.unavailable(what: "replays", hint: "\(duplicates) were told as duplicates")
    }
    return [rounds.result(Self.replayed, "events/s", beside: Self.clean)] + (try flood(feed))
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

  // MARK: A flood

  private static let floodRecords = 500_000
  private static let garbageBytes = 400
  /// What a row, its key, header and index entry take besides the original bytes, generously.
  private static let rowBytes = 600

  /// Garbage, and what it left on the disk. Kept are, per partition and minute, so many bytes and rows; each is in the
  /// table, and was in the outbox until it was delivered.
  private func flood(_ feed: TrackingFeed) throws -> [BenchmarkResult] {
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
    let rate = try feed.track(records: Self.floodRecords).recordsPerSecond
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
