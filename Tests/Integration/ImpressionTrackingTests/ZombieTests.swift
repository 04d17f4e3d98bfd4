import AdEvents
import ImpressionTrackingCore
import LocalProcesses
import Pipeline
import PipelineHost
import Postgres
import Runtime
import TestServers
import TestServices
import Testing
import Threads

@Suite struct ZombieTests {
  @Test("a partition whose owner stands still in the middle of a COPY is taken over at once, and the owner is fenced")
  func frozenInCopy() async throws {
    let proxy = try PostgresProxy(to: try await SharedPostgres.shared().socketPath)
    defer { proxy.close() }
    let partition = try await ImpressionPartition(through: proxy)
    try partition.run([partition.event(.viewed, 1)])
    let first = try partition.epoch()
    let isInCopy = StopRequest()
    let goOn = StopRequest()
    proxy.atCopy {
      isInCopy.make()
      goOn.wait()
    }
    let plan = partition.plan
    // Another owner, on a thread of its own, while the first one waits for the answer to its COPY.
    let epoch = Task {
      try await onOwnThread {
        defer { goOn.make() }
        isInCopy.wait()
        let store = StoredPartition.makeStore(plan)
        defer { store.close() }
        return try store.acquire(ImpressionPartition.number, by: PartitionClaim(owner: 2, seenEpoch: first)).epoch
      }
    }
    // More rows than would go as INSERTs.
    let many = try (2..<100).map { try partition.event(.viewed, $0) }
    #expect(throws: PipelineError.self) { try partition.run(many) }
    let next = try await epoch.value
    #expect(next > first)
    #expect(try partition.impressions() == [1])
    #expect(throws: PipelineError.fenced) { try partition.reopen() }
    #expect(try partition.reopen(seenEpoch: next) == 1)
  }

  @Test(
    "an owner whose partition was taken over stores nothing, whether its rows go as INSERTs or by COPY",
    arguments: [1, 100] as [UInt64])
  func fence(rows: UInt64) async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1)])
    let store = StoredPartition.makeStore(partition.plan)
    defer { store.close() }
    let first = try partition.epoch()
    let claim = PartitionClaim(owner: 2, seenEpoch: first)
    #expect(try store.acquire(ImpressionPartition.number, by: claim).epoch > first)
    let events = try (2..<2 + rows).map { try partition.event(.viewed, $0) }
    #expect(throws: PipelineError.fenced) { try partition.run(events) }
    #expect(try partition.impressions() == [1])
    #expect(try partition.batches() == 1)
  }
}
