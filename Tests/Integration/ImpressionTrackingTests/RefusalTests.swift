import AdEvents
import ImpressionTrackingCore
import Pipeline
import Postgres
import Testing

@Suite struct RefusalTests {
  @Test("A statement that the database does not understand is a mistake, and no outage")
  func missingColumn() async throws {
    let partition = try await ImpressionPartition()
    _ = try partition.connection.query("ALTER TABLE impression_tracking.batch RENAME COLUMN outcomes TO results")
    let error = #expect(throws: PipelineError.self) { try partition.run([partition.event(.viewed, 1)]) }
    #expect(error?.kind == .invariantBroken)
    #expect(error?.detail.contains("42703") == true)
    #expect(try partition.impressions() == [])
  }

  @Test("A server that takes no writes is set up wrong, and not away")
  func readOnly() async throws {
    let partition = try await ImpressionPartition()
    let name: String = try #require(try partition.connection.query("SELECT current_database()").first).decode(0)
    _ = try partition.connection.query("ALTER DATABASE \"\(name)\" SET default_transaction_read_only = on")
    let error = #expect(throws: PipelineError.self) { try partition.takeOver() }
    #expect(error?.kind == .databaseMisconfigured)
    #expect(error?.detail.contains("25006") == true)
  }
}
