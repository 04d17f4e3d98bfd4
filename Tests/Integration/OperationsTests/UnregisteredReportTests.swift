import JSON
import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

@Suite("Reports of what nobody registered")
struct UnregisteredReportTests {
  private func report(_ words: [(name: String, value: String)]) async throws -> Report {
    let pool = try await ReportTests.pool()
    defer { pool.close() }
    return try await onOwnThread { try Reports(pool).report(try ReportQuery.read(words).get()) }
  }

  @Test("an app, campaign or ad that is not registered, and has no traffic, is told")
  func notRegistered() async throws {
    let nobody = try await report([("app", "nobody"), ("campaign", "none"), ("country", "US")])
    #expect(nobody.notRegistered == ["app/nobody", "campaign/none"])
    #expect(nobody.json["notRegistered"] == ["app/nobody", "campaign/none"])
    #expect(
      nobody.notRegisteredNotes.first
        == "No app nobody is registered, and no traffic of it is stored: 'handbill catalog list --kind app' shows those that "
        + "are.")
    // What has traffic, or is registered, is no mistake.
    #expect(try await report([("app", "golden")]).notRegistered.isEmpty)
    let pool = try await TestDatabase.pool()
    defer { pool.close() }
    let registered = try await onOwnThread {
      _ = try CatalogStore(pool).apply(try Samples.read(Samples.file)).get()
      let words = [(name: "app", value: "weather"), (name: "ad", value: "summer-1")]
      return try Reports(pool).report(try ReportQuery.read(words).get())
    }
    #expect(registered.notRegistered.isEmpty && registered.json["notRegistered"] == [])
  }
}
