import Kafka
import LocalProcesses
import Postgres
import Runtime
import TestServices
import TestValues
import Testing

@Suite("Instances of one service", .timeLimit(.minutes(5)))
struct SharingTests {
  /// What each instance has, the largest share first.
  private func shares(_ connection: PostgresConnection) throws -> [Int64] {
    try connection.query(
      """
      SELECT count(*) FROM impression_tracking.partition p JOIN impression_tracking.member m ON m.member = p.owner
      GROUP BY m.member ORDER BY 1 DESC
      """
    ).map { try $0.decode(0) }
  }

  @Test("They share the partitions; one that stops gives up its own at once, and a cut session costs nothing")
  func share() async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let first = try RunningTracking(databaseURL: url, partitions: 4)
      defer { first.stop() }
      let connection = try PostgresConnection(PostgresConfiguration(url))
      defer { connection.close() }
      #expect(try first.start())
      #expect(try shares(connection) == [4])

      let second = try RunningTracking(databaseURL: url, broker: first.broker)
      #expect(try second.start(), "it is ready when it has its share")
      #expect(try shares(connection) == [2, 2])

      let epochs = try epochs(connection)
      _ = try connection.query(
        """
        SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE application_name = 'handbill-impression-tracking-leases' AND datname = current_database()
        """)
      let isBack = try Waiting.until { try shares(connection) == [2, 2] }
      #expect(isBack)
      #expect(try RunningTracking.awaitBeats(connection))
      #expect(try shares(connection) == [2, 2])
      #expect(try self.epochs(connection) == epochs, "nothing changed hands")

      #expect(second.lifeCycle.stopAll(timeoutMilliseconds: 20_000))
      #expect(try members(connection) == 1, "what was the second's was free before it ended")
      let isWhole = try Waiting.until { try shares(connection) == [4] }
      #expect(isWhole)
    }
  }

  private func epochs(_ connection: PostgresConnection) throws -> [Int64] {
    try connection.query("SELECT epoch FROM impression_tracking.partition ORDER BY partition").map { try $0.decode(0) }
  }

  private func members(_ connection: PostgresConnection) throws -> Int64 {
    try connection.query("SELECT count(*) FROM impression_tracking.member").first?.decode(0) ?? -1
  }
}
