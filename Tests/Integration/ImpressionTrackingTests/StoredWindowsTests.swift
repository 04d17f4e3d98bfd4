import AdCore
import ImpressionTrackingCore
import LocalProcesses
import Pipeline
import PipelineHost
import Postgres
import Runtime
import TestServices
import Testing

@testable import ImpressionTracking

@Suite("Stored windows")
struct StoredWindowsTests {
  @Test("who takes a partition notes its windows with it, each change once; what was replaced long ago goes")
  func noted() async throws {
    let plan = try await ImpressionPartition().plan
    try await onOwnThread {
      let connection = try PostgresConnection(plan.database)
      defer { connection.close() }
      func take(_ partition: Int32, late: Int64) throws {
        var windows = Windows()
        windows.lateArrivalMilliseconds = late
        var plan = plan
        plan.tables = ImpressionTables(windows: windows)
        let store = StoredPartition.makeStore(plan)
        defer { store.close() }
        _ = try store.acquire(partition, by: PartitionClaim(owner: 1, seenEpoch: 0))
      }
      func late(_ partition: Int32) throws -> [Int64] {
        try connection.query(
          """
          SELECT milliseconds FROM impression_tracking.windows WHERE partition = $1 AND name = 'HANDBILL_LATE_ARRIVAL'
          ORDER BY in_force_from
          """, [partition]
        ).map { row throws(PostgresError) in try row.decode(0) }
      }
      try take(1, late: 60_000)
      try take(1, late: 60_000)
      try take(2, late: 5_000)
      #expect(try late(1) == [60_000] && late(2) == [5_000])
      let names = try connection.query(
        "SELECT name, milliseconds FROM impression_tracking.windows WHERE partition = 1 ORDER BY name")
      #expect(names.count == WindowSettings.declarations.count)
      let stored = Dictionary(
        try names.map { (try $0.decode(0, String.self), try $0.decode(1, Int64.self)) }, uniquingKeysWith: max)
      var wanted = Windows()
      wanted.lateArrivalMilliseconds = 60_000
      #expect(WindowSettings.windows(stored: stored) == wanted)

      try take(1, late: 90_000)
      try take(1, late: 60_000)
      #expect(try late(1) == [60_000, 90_000, 60_000])
      try connection.executeScript(
        "UPDATE impression_tracking.windows SET in_force_from = in_force_from - interval '61 days'")
      try take(1, late: 7_000)
      #expect(try late(1) == [60_000, 7_000] && late(2) == [5_000])
    }
  }
}
