import AdCore
import AdEvents
import LocalProcesses
import Operations
import Pipeline
import PipelineHost
import Postgres
import Records
import TestServers
import TestServices
import TestValues
import Testing

@testable import ImpressionTracking

@Suite("A database that was restored from a backup")
struct RestoreTests {
  private static let topic = Topic.acceptedImpressions.name

  private static let tables = [
    "impression_tracking.partition", "impression_tracking.batch", "impression_tracking.impression_row",
    "impression_tracking.delivery_row", "impression_tracking.delivery_pack",
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
    // Above every epoch that was lost, also where the clock of the server that was put in place is behind.
    let ahead = """
      SELECT epoch - floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM impression_tracking.partition
      """
    #expect(try numbers(ahead, partition).allSatisfy { $0 > 900_000 })
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

  @Test(
    "Behind another connection may be another database: a partition is taken over again before anything is done in it")
  func otherConnection() async throws {
    let proxy = try PostgresProxy(to: try await SharedPostgres.shared().socketPath)
    defer { proxy.close() }
    let partition = try await ImpressionPartition()
    var plan = partition.plan
    let name: String = try #require(try partition.connection.query("SELECT current_database()").first).decode(0)
    plan.database = try PostgresConfiguration(proxy.url(database: name), applicationName: "test")
    let store = StoredPartition<ImpressionTables>.makeStore(plan)
    defer { store.close() }
    let claim = PartitionClaim(owner: 1, seenEpoch: 0)
    for number in [20, 21] as [Int32] { _ = try store.acquire(number, by: claim) }
    #expect(try store.outbox(21, after: 0, limit: 1).isEmpty)
    proxy.cutAll()
    #expect(throws: PipelineError.self) { try store.outbox(20, after: 0, limit: 1) }
    _ = try store.acquire(20, by: claim)
    #expect(try store.outbox(20, after: 0, limit: 1).isEmpty)
    let error = #expect(throws: PipelineError.self) { try store.outbox(21, after: 0, limit: 1) }
    #expect(error?.kind == .databaseUnavailable)
    _ = try store.acquire(21, by: claim)
    #expect(try store.outbox(21, after: 0, limit: 1).isEmpty)
  }

  @Test("Who still has a partition open when a timeline is begun finds nothing lost in what it tells: he is fenced")
  func openMeanwhile() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1)])
    let note = "SELECT timeline.note_finding('impression_tracking', $1, $2, 'a test')"
    let epoch = try numbers("SELECT epoch FROM impression_tracking.partition", partition)[0]
    _ = try partition.connection.inTransaction { try Timelines(partition.connection).begin([], reason: "a test") }
    let error = #expect(throws: PostgresError.self) {
      try partition.connection.query(note, [ImpressionPartition.number, epoch])
    }
    #expect(error?.sqlState == "HB001")
    #expect(try numbers("SELECT count(*) FROM timeline.finding", partition) == [0])
    _ = try partition.connection.query(
      note, [ImpressionPartition.number, try numbers("SELECT epoch FROM impression_tracking.partition", partition)[0]])
    #expect(try numbers("SELECT count(*) FROM timeline.finding", partition) == [1])
  }

  @Test(
    "A topic that tells of a later batch, and of no later sequence, tells of lost commits, in the timeline in force")
  func laterBatch() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1)])
    let mark = try lastMark(partition)
    var later = mark
    later.batch += 1
    let timelines = Timelines(partition.connection)
    for (mark, count) in [(mark, 0), (later, 1)] {
      let told = Timelines.Told(topic: Self.topic, partition: ImpressionPartition.number, mark: mark)
      #expect(try timelines.losses([told]).count == count)
    }
    _ = try partition.connection.inTransaction { try timelines.begin([], reason: "a test") }
    later.batch += 1_000
    let ended = Timelines.Told(topic: Self.topic, partition: ImpressionPartition.number, mark: later)
    #expect(try timelines.losses([ended]).isEmpty)
  }

  @Test("What was told by a partition that the backup does not have yet is gone on above as well")
  func newPartition() async throws {
    let partition = try await ImpressionPartition()
    let number = ImpressionPartition.number + 1
    let mark = TimelineMark(timeline: .sample(7), sequence: 40, batch: 9)
    let told = Timelines.Told(topic: Self.topic, partition: number, mark: mark)
    _ = try partition.connection.inTransaction { try Timelines(partition.connection).begin([told], reason: "a test") }
    #expect(
      try numbers("SELECT next_sequence FROM impression_tracking.output WHERE partition = \(number)", partition) == [42]
    )
    let lost = "SELECT first_sequence FROM timeline.lost_sequence WHERE partition = \(number)"
    #expect(try numbers(lost, partition) == [1])
  }

  @Test("A backup of before an earlier restore was accepted goes on above that one, too")
  func restoredTwice() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1)])
    let backup = try Backup(partition.connection)
    let timelines = Timelines(partition.connection)
    for event in [2, 3] as [UInt64] {
      try partition.run([partition.event(.viewed, event)])
      let mark = try lastMark(partition)
      partition.lastMarks = [Self.topic: mark]
      try backup.restore()
      #expect(throws: PipelineError.self) { try partition.takeOver() }
      _ = try partition.connection.inTransaction { try timelines.begin(told(partition), reason: "a test") }
      // The topic's last word is of a timeline that the backup did not know.
      try partition.takeOver()
      #expect(try timelines.losses(told(partition)).isEmpty)
    }
    #expect(try numbers("SELECT count(*) FROM timeline.timeline", partition) == [3])
    try partition.run([partition.event(.viewed, 4)])
    #expect(try partition.impressions() == [1, 4])
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
