import AdCore
import AdEvents
import LocalProcesses
import Pipeline
import PipelineHost
import Postgres
import TestServers
import TestServices
import Testing

@Suite struct CountsTests {
  @Test("M6: counts that no table has yet are counted again, from the rows, by the partition's next owner")
  func countsOfTheNextOwner() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1), partition.event(.viewed, 2), partition.event(.viewed, 2)])
    try partition.run([partition.event(.rendered, 1), partition.event(.failed, 3, error: .serverFailure)])
    try partition.run([partition.failure(4)])
    #expect(try partition.counts() == [])
    try partition.takeOver()
    try partition.run([partition.event(.viewed, 5)])
    try partition.later(seconds: 11)
    let counts = ["1 -1 summer 1", "2 -1 summer 3", "4 1 summer 1", "4 6  1"]
    #expect(try partition.counts() == counts)
    try partition.takeOver()
    try partition.later(seconds: 11)
    #expect(try partition.counts() == counts)
  }

  @Test("A1, M6: failures without an ad are rows and counts only with their app's key, and of a test build test ones")
  func failuresOfKeys() async throws {
    let partition = try await ImpressionPartition()
    let stranger = [UInt8](repeating: 9, count: 32)
    let summary = try partition.run([
      partition.failure(1), partition.failure(2, key: ImpressionPartition.testKey), partition.failure(3, key: stranger),
    ])
    #expect(summary.outcomes[Int(RejectionReason.appKeyWrong.rawValue)] == 1)
    try partition.writeCounts()
    func rows(_ sql: String) throws -> [String] { try partition.connection.query(sql).map { try $0.decode(0) } }
    let counted = ["f  1", "t  1"]
    let counts = """
      SELECT concat_ws(' ', is_test, placement, sum(events)) FROM impression_tracking.all_count
      GROUP BY is_test, placement ORDER BY 1
      """
    let stored =
      "SELECT concat_ws(' ', is_test, '', count(*)) FROM impression_tracking.failure GROUP BY is_test ORDER BY 1"
    #expect(try rows(stored) == counted)
    #expect(try rows(counts) == counted)
    try partition.takeOver()
    try partition.run([partition.failure(4, key: ImpressionPartition.testKey)])
    try partition.takeOver()
    try partition.later(seconds: 11)
    #expect(try rows(counts) == ["f  1", "t  2"])
  }

  @Test("M6: events of a minute that was written before are added to its counts")
  func countsAreAdded() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1)])
    try partition.later(seconds: 11)
    try partition.run([partition.event(.viewed, 2)])
    try partition.later(seconds: 11)
    #expect(try partition.counts() == ["2 -1 summer 2"])
  }
}

/// A flush of counts is written once, whatever happens to it.
@Suite struct CountFlushTests {
  @Test("M6: an owner whose partition somebody else has counted writes nothing, and gives it up")
  func refused() async throws {
    let partition = try await ImpressionPartition()
    try partition.writeCounts()
    try partition.run([partition.event(.viewed, 1), partition.event(.viewed, 2)])
    // Another owner has counted these from their rows, while this one stood still.
    let other = CountStore(tables: partition.plan.tables, configuration: partition.plan.database)
    defer { other.close() }
    let (number, epoch) = (ImpressionPartition.number, try partition.epoch())
    #expect(try other.write(CountFlush(partition: number, epoch: epoch, upTo: 1, content: .stored)))
    try partition.run([partition.event(.viewed, 3)])
    #expect(throws: PipelineError.fenced) { try partition.writeCounts() }
    #expect(try partition.counts() == ["2 -1 summer 2"])
    #expect(try !other.write(CountFlush(partition: number, epoch: epoch, upTo: 0, content: .stored)))
    #expect(try other.write(CountFlush(partition: number, epoch: epoch, upTo: 2, content: .stored)))
    #expect(try partition.counts() == ["2 -1 summer 3"])
  }

  @Test("M6: counts of batches that the database lacks, as after a restored backup, are not written")
  func lostBatches() async throws {
    let partition = try await ImpressionPartition()
    try partition.writeCounts()
    try partition.run([partition.event(.viewed, 1)])
    let other = CountStore(tables: partition.plan.tables, configuration: partition.plan.database)
    defer { other.close() }
    let (number, epoch) = (ImpressionPartition.number, try partition.epoch())
    #expect(try !other.write(CountFlush(partition: number, epoch: epoch, upTo: 2, content: .collected([:], after: 0))))
    // Its number is another batch's now, of another owner.
    #expect(
      try !other.write(CountFlush(partition: number, epoch: epoch - 1, upTo: 1, content: .collected([:], after: 0))))
    try partition.writeCounts()
    #expect(try partition.counts() == ["2 -1 summer 1"])
  }

  @Test(
    "M6: counts whose connection was cut in mid-COMMIT are written once, whichever way the COMMIT went",
    arguments: PostgresProxy.Cut.allCases, [1, 100] as [UInt64])
  func lostCommit(_ cut: PostgresProxy.Cut, campaigns: UInt64) async throws {
    let proxy = try PostgresProxy(to: try await SharedPostgres.shared().socketPath)
    defer { proxy.close() }
    let partition = try await ImpressionPartition(through: proxy)
    try partition.writeCounts()
    // So many rows: as INSERTs, or packed by COPY.
    try partition.run(
      try (1...campaigns).map { number in try partition.event(.viewed, number, campaign: "c-\(number)") })
    proxy.cutCommit(cut)
    #expect(throws: PostgresError.self) { try partition.writeCounts() }
    #expect(proxy.cuts == 1)
    try partition.writeCounts()
    #expect(try partition.counts().count == Int(campaigns))
    #expect(try partition.counts().allSatisfy { $0.hasSuffix(" 1") })
    let packed = try partition.connection.query(
      "SELECT cardinality(events)::bigint FROM impression_tracking.packed_count")
    #expect(try packed.map { try $0.decode(0, Int64.self) } == (campaigns == 1 ? [] : [Int64(campaigns)]))
    try partition.run([partition.event(.viewed, 200)])
    try partition.writeCounts()
    #expect(try partition.counts().last == "2 -1 summer 1")
  }
}
