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

/// One partition of click tracking over a real database, its log in memory.
final class Partition {
  static let number: Int32 = 7
  /// When everything of the test arrives.
  let now: Timestamp
  let database: PostgresConfiguration
  let connection: PostgresConnection
  let writer = Publications()
  private let clock: MovingClock
  private let windows: Windows
  private var pipeline: PartitionPipeline<PostgresPipelineStore<ClickTables>, Publications>
  private var offsets: [Int64] = [0, 0]
  private var impressions: Int64 = 0

  init(now: Timestamp, windows: Windows = Windows()) async throws {
    self.now = now
    self.windows = windows
    database = try await TestDatabase.configuration()
    connection = try PostgresConnection(database)
    clock = MovingClock(now)
    pipeline = try Partition.makePipeline(database, windows: windows, writer: writer, clock: clock)
    try open()
  }

  private static func makePipeline(
    _ database: PostgresConfiguration, windows: Windows, writer: Publications, clock: MovingClock
  ) throws -> PartitionPipeline<PostgresPipelineStore<ClickTables>, Publications> {
    let service = try ClickTrackingCore.ClickTracking(
      ring: try KeyRing(keys: [KeyRing.Key(id: 1, secret: Array(repeating: 7, count: 32))]))
    let store = PostgresPipelineStore(
      tables: ClickTables(windows: windows), service: service, configuration: database)
    return PartitionPipeline(
      service: service, partition: number, partitionCount: 12, store: store, writer: writer, clock: clock)
  }

  private func open() throws {
    let offsets = offsets
    _ = try pipeline.open(by: PartitionClaim(owner: 1, seenEpoch: 0)) { lastOffsets in
      zip(lastOffsets, offsets).map { lastOffset, end in
        LogProbe(
          firstOffset: 0, endOffset: end,
          record: lastOffset.map { RecordIdentity(offset: $0, timestamp: 1, contentHash: 0) })
      }
    }
  }

  /// Another owner takes the partition over, and publishes again what nobody said was delivered.
  func takeOver() throws {
    writer.take()
    pipeline = try Partition.makePipeline(database, windows: windows, writer: writer, clock: clock)
    try open()
  }

  /// Decides and commits one batch.
  @discardableResult
  func run(_ events: [ClickInput]) throws -> BatchSummary {
    var batch = InputBatch<ClickInput>(inputCount: 2)
    for event in events {
      var input = 1
      var mark = SequenceMark.unnumbered
      switch event {
      case .impression:
        impressions += 1
        mark = .number(impressions)
      case .watermark:
        mark = .watermark(Watermark(time: now.advanced(byMilliseconds: 172_800_000), sequence: impressions))
      case .action, .rejected: input = 0
      }
      batch.append(
        InputRecord(
          input: input, offset: offsets[input], timestamp: 1, arrival: now, mark: mark, event: event, contentHash: 0,
          raw: RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0)))
      offsets[input] += 1
    }
    return try pipeline.process(batch)
  }

  func tick() throws { _ = try pipeline.tick() }

  /// Lets a minute pass in which nothing arrives.
  ///
  /// - Returns: what a person was told meanwhile.
  func passMinute() throws -> [PipelineAlarm] {
    var alarms: [PipelineAlarm] = []
    pipeline.alarm = { alarms.append($0) }
    defer { pipeline.alarm = { _ in } }
    for _ in 0..<60 {
      clock.advance(byMilliseconds: 1_000)
      try tick()
    }
    return alarms
  }

  /// A number that the database answers.
  func count(_ sql: String) throws -> Int64 { try connection.query(sql)[0].decode(0) }

  /// A decided click by the number that the test gave it.
  struct Verdict: Hashable {
    let id: UInt64
    let verdict: ClickVerdict
    let wasParked: Bool
  }

  /// What became of each click, in the order of their sequences.
  func verdicts() throws -> [Verdict] {
    try connection.query("SELECT id_hash, verdict, was_parked FROM click_tracking.click ORDER BY sequence").map { row in
      let hash: Int64 = try row.decode(0)
      let verdict: Int16 = try row.decode(1)
      return Verdict(
        id: .max - UInt64(bitPattern: hash), verdict: try #require(ClickVerdict(rawValue: UInt8(clamping: verdict))),
        wasParked: try row.decode(2))
    }
  }

  /// Each decided click as text, without its sequence and the way there.
  func clicks() throws -> Set<String> {
    Set(
      try connection.query(
        """
        SELECT (to_jsonb(c) - ARRAY['sequence', 'batch_number', 'was_parked'])::text FROM click_tracking.click AS c
        """
      ).map { try $0.decode(0, String.self) })
  }

  /// Each count per minute as text.
  func counts() throws -> Set<String> {
    Set(
      try connection.query("SELECT to_jsonb(c)::text FROM click_tracking.minute_count AS c").map {
        try $0.decode(0, String.self)
      })
  }
}
