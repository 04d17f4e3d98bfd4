import AdCore
import AdEvents
import ImpressionTrackingCore
import LocalProcesses
import Pipeline
import Postgres
import TestServers
import Testing

@Suite struct LostCommitTests {
  @Test(
    "a batch whose connection was cut in mid-COMMIT is decided once, whichever way the COMMIT went",
    arguments: PostgresProxy.Cut.allCases)
  func cut(_ cut: PostgresProxy.Cut) async throws {
    let proxy = try PostgresProxy(to: try await SharedPostgres.shared().socketPath)
    defer { proxy.close() }
    let partition = try await ImpressionPartition(through: proxy)
    let events = [try partition.event(.viewed, 1), try partition.event(.viewed, 2), try partition.event(.viewed, 2)]
    proxy.cutCommit(cut)
    let error = #expect(throws: PipelineError.self) { try partition.run(events) }
    #expect(error?.kind == .databaseUnavailable)
    #expect(proxy.cuts == 1)
    // Opened again, as the worker does: the position says which way it went, and reading goes on there.
    let next = try partition.reopen()
    #expect(next == (cut == .beforeServerSees ? 0 : 3))
    if next == 0 { try partition.run(events) }
    #expect(try partition.impressions() == [1, 2])
    #expect(try partition.batches() == 1)
  }
}
