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
      Report.notes(notRegistered: nobody.notRegistered).first
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

  @Test("M1: an error that a device told without an ad makes no line for an app that nobody registered")
  func strangers() async throws {
    let pool = try await ReportTests.pool()
    defer { pool.close() }
    let apps = try await onOwnThread {
      _ = try pool.withConnection { connection throws(PostgresError) in
        try connection.executeScript(
          """
          INSERT INTO catalog.record (key, kind, body, version, change_number) VALUES ('app/weather', 'app', '{}', 1, 2);
          INSERT INTO impression_tracking.minute_count (partition, minute, is_test, kind, app, campaign, ad, placement,
            country, size, device, error, events)
          SELECT 0, '2026-07-01T12:00Z', false, vocabulary.delivery_kind('failed'), app, '', '', 'home', '', 0, 0,
            vocabulary.ad_error('assetLoadFailure'), 3
          FROM unnest(ARRAY['weather', 'ghost']) AS app
          """)
      }
      let report = try Reports(pool).report(try ReportQuery.read([("group", "app")]).get())
      return report.rows.map { $0.values[0] }
    }
    #expect(apps.contains("weather") && !apps.contains("ghost"), "\(apps)")
  }

  @Test("a report refuses what it would ignore, and times that figures do not have")
  func refused() throws {
    func mistake(_ words: [(name: String, value: String)]) -> String {
      if case .failure(let mistakes) = ReportQuery.read(words) { mistakes.description } else { "none" }
    }
    #expect(mistake([("app", "weather"), ("app", "chess")]) == "app: stands twice, and a report is of one")
    #expect(mistake([("from", "2026-07-01T12:00:30Z")]) == "from: give a whole minute: figures are kept by the minute")
    #expect(mistake([("from", "2026-07-02"), ("until", "2026-07-01")]) == "until: lies not after from")
    #expect(mistake([("from", "2026-07-01"), ("until", "2026-07-02"), ("app", "chess")]) == "none")
  }
}
