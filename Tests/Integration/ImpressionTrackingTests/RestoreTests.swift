import AdCore
import AdEvents
import Operations
import Pipeline
import Postgres
import Records
import TestValues
import Testing

@testable import ImpressionTracking

@Suite("A database that was restored from a backup")
struct RestoreTests {
  private static let topic = Topic.acceptedImpressions.name

  private static let tables = [
    "impression_tracking.partition", "impression_tracking.batch", "impression_tracking.impression_row",
    "impression_tracking.delivery_row",
    "impression_tracking.lost_sequence", "impression_tracking.gap_request", "timeline.timeline", "timeline.finding",
    "timeline.lost_sequence", "timeline.lost_serve",
  ]

  private struct Backup {
    let connection: PostgresConnection

    init(_ connection: PostgresConnection) throws {
      self.connection = connection
      try connection.executeScript(
        "DROP SCHEMA IF EXISTS backup CASCADE; CREATE SCHEMA backup;"
          + tables.map { "CREATE TABLE backup.\"\($0)\" AS SELECT * FROM \($0);" }.joined())
    }

    func restore() throws {
      try connection.executeScript(
        "TRUNCATE \(tables.joined(separator: ", "));"
          + tables.map { table in
            "INSERT INTO \(table) OVERRIDING SYSTEM VALUE SELECT * FROM backup.\"\(table)\";"
          }.joined())
    }
  }

  private func told(_ partition: ImpressionPartition) -> [Timelines.Told] {
    partition.lastMarks.map { Timelines.Told(topic: $0.key, partition: ImpressionPartition.number, mark: $0.value) }
  }

  /// What the last record says, as a topic would keep it.
  private func lastMark(_ partition: ImpressionPartition) throws -> TimelineMark {
    let name = Array("\(TimelineMark.headerName)".utf8)
    let header = partition.published.messages.last?.headers.first { $0.name == name }
    return try #require(header.flatMap { TimelineMark($0.text) })
  }

  private func numbers(_ sql: String, _ partition: ImpressionPartition) throws -> [Int64] {
    try partition.connection.query(sql).map { try $0.decode(0) }
  }

  @Test("It is found to lack commits, stops, and goes on above what the topic tells once a person has accepted it")
  func restored() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1), partition.event(.viewed, 2)])
    let backup = try Backup(partition.connection)
    try partition.run([partition.event(.viewed, 3), partition.event(.viewed, 4)])
    let mark = try lastMark(partition)
    #expect(mark.sequence == 4 && mark.batch == 2)
    partition.lastMarks = [Self.topic: mark]
    try partition.takeOver()

    try backup.restore()
    let timelines = Timelines(partition.connection)
    #expect(try timelines.losses(told(partition)).map(\.service) == ["impression_tracking"])
    for _ in 0..<2 {
      partition.published.take()
      let error = #expect(throws: PipelineError.self) { try partition.takeOver() }
      #expect(error?.kind == .commitsLost)
      #expect(partition.published.messages.isEmpty)
      // It stays stopped, whoever opens it, also where the topic tells of nothing any more.
      partition.lastMarks = [:]
    }

    partition.lastMarks = [Self.topic: mark]
    let number = try partition.connection.inTransaction { try timelines.begin(told(partition), reason: "a test") }
    #expect(number == 2)
    #expect(try timelines.losses(told(partition)).isEmpty)
    try partition.takeOver()
    // The clients' topics still have the events, and they are read again.
    try partition.run([partition.event(.viewed, 3), partition.event(.viewed, 4), partition.event(.viewed, 5)])
    #expect(try partition.impressions() == [1, 2, 3, 4, 5])
    #expect(
      try numbers("SELECT sequence FROM impression_tracking.impression ORDER BY 1", partition) == [1, 2, 6, 7, 8])
    try partition.later(seconds: 1)
    #expect(partition.published.acceptedImpressions.contains("lost 3-5"))
    #expect(try lastMark(partition).timeline != mark.timeline)
    #expect(
      try numbers("SELECT next_sequence FROM timeline.lost_sequence WHERE first_sequence = 3", partition) == [6])
  }

  @Test("What its owner has committed and the database no longer knows stops it, though no topic tells of it")
  func remembered() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1)])
    let backup = try Backup(partition.connection)
    try partition.run([partition.event(.viewed, 2)])
    partition.remember(partition.committed)
    try partition.takeOver()
    try backup.restore()
    let error = #expect(throws: PipelineError.self) { try partition.takeOver() }
    #expect(error?.kind == .commitsLost)
    #expect(try numbers("SELECT count(*) FROM timeline.finding", partition) == [1])
    // Where nothing tells of sequences, a new timeline is begun all the same.
    _ = try partition.connection.inTransaction { try Timelines(partition.connection).begin([], reason: "a test") }
    try partition.takeOver()
    try partition.run([partition.event(.viewed, 2)])
    #expect(try partition.impressions() == [1, 2])
  }

  @Test(
    "Of ads that lost decisions served each is named, so that it differs from nothing, and those with decisions are not"
  )
  func lostServes() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1), partition.event(.viewed, 2)])
    let timelines = Timelines(partition.connection)
    #expect(try timelines.nameLostServes() == 2)
    #expect(try timelines.nameLostServes() == 0)
    let isLost = """
      SELECT count(*) FROM impression_tracking.impression_row WHERE timeline.is_lost(partition, serve_id)
      """
    #expect(try numbers(isLost, partition) == [2])
    #expect(
      try numbers(
        """
        SELECT count(*) FROM impression_tracking.impression_row i JOIN timeline.lost_serve l ON i.serve_id >= l.first_id
          AND i.serve_id < l.next_id
        """, partition) == [2])
    // They are no commits that were lost before the first timeline: nobody accepted anything yet.
    #expect(try LostServes.read(in: partition.connection).isEmpty)
  }
}

extension PostgresConnection {
  fileprivate func inTransaction<Value>(_ body: () throws -> Value) throws -> Value {
    try begin()
    let value = try body()
    try commit()
    return value
  }
}
