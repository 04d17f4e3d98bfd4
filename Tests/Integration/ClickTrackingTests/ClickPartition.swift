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

/// One partition of click tracking over a database of its own.
final class ClickPartition {
  static let number: Int32 = 7
  /// When everything of the test arrives.
  let now: Timestamp
  let connection: PostgresConnection
  var published: Publications { stored.published }
  private let clock: MovingClock
  private let stored: StoredPartition<ClickTables>

  init(now: Timestamp, windows: Windows = Windows(), memory: ClickMemory = ClickMemory()) async throws {
    self.now = now
    clock = MovingClock(now)
    let service = ClickTrackingCore.ClickTracking(
      ring: try KeyRing(keys: [KeyRing.Key(id: 1, secret: Array(repeating: 7, count: 32))]))
    let plan = StoredPartition.Plan(
      number: Self.number, service: service, tables: ClickTables(windows: windows, memory: memory),
      database: try await TestDatabase.configuration(), clock: clock)
    connection = try PostgresConnection(plan.database)
    stored = try StoredPartition(plan)
  }

  /// Another owner takes the partition over, and publishes again what nobody said was delivered.
  func takeOver() throws {
    published.take()
    try stored.takeOver()
  }

  /// Decides and commits one batch.
  @discardableResult
  func run(_ events: [ClickInput]) throws -> BatchSummary {
    let later = now.advanced(byMilliseconds: 172_800_000)
    return try stored.process(
      events.map { event in
        switch event {
        case .impression: (1, event, stored.nextSequence(input: 1))
        case .watermark: (1, event, stored.watermark(input: 1, time: later))
        case .action, .conversion, .rejected: (0, event, .unnumbered)
        }
      }, arrival: now)
  }

  /// Decides a batch of what impression tracking published.
  func take(_ messages: [OutgoingMessage]) throws { try stored.take(messages, input: 1) }

  func tick() throws { try stored.tick() }

  /// Lets a minute pass in which nothing arrives.
  ///
  /// - Returns: what a person was told meanwhile.
  func passMinute() throws -> [PipelineAlarm] {
    try stored.alarms {
      for _ in 0..<60 {
        clock.advance(byMilliseconds: 1_000)
        try tick()
      }
    }
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

  /// Each count per minute as text, once everything that is counted is written.
  func counts() throws -> Set<String> {
    try stored.writeAllCounts()
    return Set(
      try connection.query(
        """
        SELECT (to_jsonb(c) - 'events')::text || sum(events) FROM click_tracking.all_count AS c
        GROUP BY to_jsonb(c) - 'events'
        """
      ).map { try $0.decode(0, String.self) })
  }
}
