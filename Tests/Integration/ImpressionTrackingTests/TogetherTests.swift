import AdEvents
import Pipeline
import PipelineHost
import Postgres
import TestServices
import Testing

@testable import ImpressionTracking

/// Two partitions of one worker, on a real database.
@Suite("Batches of several partitions in one transaction of PostgreSQL")
struct TogetherTests {
  private typealias Stored = StoredPartition<ImpressionTables>

  private let first: ImpressionPartition
  private let store: PostgresPipelineStore<ImpressionTables>
  private let partitions: [Stored]

  init() async throws {
    let first = try await ImpressionPartition()
    let store = Stored.makeStore(first.plan)
    self.first = first
    self.store = store
    partitions = try [first.plan.number, first.plan.number + 1].map { number in
      var plan = first.plan
      plan.number = number
      return try Stored(plan, in: store)
    }
  }

  /// Views of so many serves in each partition; those of the second have higher numbers.
  private func process(_ views: UInt64) throws -> [Result<BatchSummary, PipelineError>] {
    let batches = try partitions.map { partition in
      let number = partition.plan.number
      let records = try (1...views).map { serve in
        let serve = UInt64(number - first.plan.number) * 1_000 + serve
        return (0, try first.event(.viewed, serve, partition: number), RecordSequence.unnumbered)
      }
      return (partition, records as [Stored.Incoming])
    }
    return Stored.process(batches, in: store)
  }

  private func transactions(of table: String) throws -> Int64 {
    try #require(
      try first.connection.query("SELECT count(DISTINCT xmin::text) FROM impression_tracking.\(table)").first
    ).decode(0)
  }

  @Test("Rows of both are written at once, as few by INSERT and as many by COPY, and both publish", arguments: [1, 40])
  func together(views: UInt64) throws {
    #expect(try process(views).map { try $0.get().records } == [Int(views), Int(views)])
    let serves = [1...views, 1_001...1_000 + views].flatMap { $0.map(Int64.init) }
    #expect(try first.impressions() == serves)
    #expect(try transactions(of: "batch") == 1)
    #expect(try transactions(of: "impression_row") == 1)
    #expect(try first.batches() == 2)
    #expect(partitions.map { $0.published.acceptedImpressions.count } == [Int(views), Int(views)])
  }

  @Test("Where one is another owner's by now, the other's rows are written by themselves")
  func fenced() throws {
    let other = try Stored(partitions[1].plan)
    let results = try process(1)
    #expect(try results[0].get().records == 1)
    #expect(throws: PipelineError.fenced) { try results[1].get() }
    #expect(try first.impressions() == [1])
    #expect(other.committed?.number == 0)
  }

  @Test(
    "What the database cannot take of one partition, now or ever, is that partition's trouble alone",
    arguments: [("P0001", PipelineError.Kind.invariantBroken), ("40P01", .databaseUnavailable)])
  func alone(state: String, kind: PipelineError.Kind) throws {
    try first.connection.executeScript(
      """
      CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE EXCEPTION ''not now'' USING ERRCODE = ''\(state)''; END';
      CREATE TRIGGER fail BEFORE INSERT ON impression_tracking.impression_row FOR EACH ROW
        WHEN (NEW.partition = \(first.plan.number + 1)) EXECUTE FUNCTION public.fail();
      """)
    let results = try process(1)
    #expect(try results[0].get().records == 1)
    let error = #expect(throws: PipelineError.self) { try results[1].get() }
    #expect(error?.kind == kind)
    #expect(try first.impressions() == [1])
  }

  @Test("A partition that was taken over on a connection before is no trouble of those on this one")
  func stale() throws {
    _ = try first.connection.query(
      """
      SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
      WHERE usename = 'handbill-impression-tracking' AND datname = current_database()
      """)
    // The first failure is everybody's: the connection is gone.
    for result in try process(1) { #expect(throws: PipelineError.self) { try result.get() } }
    try partitions[0].reopen()
    let results = try process(1)
    #expect(try results[0].get().records == 1)
    let error = #expect(throws: PipelineError.self) { try results[1].get() }
    #expect(error?.kind == .databaseUnavailable)
  }

  @Test("A statement that the database does not understand is the trouble of all who need it, and no outage")
  func broken() throws {
    _ = try first.connection.query("ALTER TABLE impression_tracking.batch RENAME COLUMN outcomes TO results")
    for result in try process(1) {
      let error = #expect(throws: PipelineError.self) { try result.get() }
      #expect(error?.kind == .invariantBroken)
    }
    #expect(try first.impressions() == [])
  }
}
