import Foundation
import LocalProcesses
import Postgres
import TestServers
import TestServices
import Testing

@Suite("The reporting schema")
struct ReportingTests {
  /// A connection to a migrated database, as the role that people's programs have.
  private static func withReader(_ body: (PostgresConnection) throws -> Void) async throws {
    let url = try await SharedPostgres.database(copyOf: TestDatabase.bare)
    var configuration = try PostgresConfiguration(url)
    configuration.sessionSettings["role"] = "handbill_reporting"
    configuration.sessionSettings["default_transaction_read_only"] = "on"
    let connection = try PostgresConnection(configuration)
    defer { connection.close() }
    try body(connection)
  }

  @Test("docs/reporting.md has every view and column, as they are, and nothing else (UPDATE_DOCUMENTS=1 writes them)")
  func page() async throws {
    try await Self.withReader { connection in
      let columns = try ReportingPage.columns(connection)
      if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] == "1" {
        let text = ReportingPage.text(try PackageText.text(ReportingPage.path), columns: columns)
        try text.write(toFile: PackageRoot.path(ReportingPage.path), atomically: true, encoding: .utf8)
      }
      let views = ReportingPage(try PackageText.text(ReportingPage.path)).views
      #expect(Set(views.keys) == Set(columns.keys))
      for (view, said) in views {
        let stored = columns[view] ?? []
        #expect(said.count == stored.count && Set(said) == Set(stored), "\(view)")
      }
      for (view, columns) in columns {
        for column in columns { #expect(column.meaning.count > 3, "\(view).\(column.name) has no comment") }
      }
    }
  }

  @Test("Each section has a sample that runs, as the role that may only read, and samples name every view but twins")
  func samples() async throws {
    try await Self.withReader { connection in
      let sections = ReportingPage(try PackageText.text(ReportingPage.path)).sections.filter { !$0.views.isEmpty }
      #expect(sections.count >= 5)
      for section in sections {
        #expect(!section.samples.isEmpty, "\(section.views)")
        for sample in section.samples {
          #expect(section.views.contains { sample.contains("reporting.\($0)") }, "\(sample)")
          do throws(PostgresError) { _ = try connection.query(sample) } catch { Issue.record("\(sample): \(error)") }
        }
      }
      let version = try connection.query("SELECT version FROM reporting.version").map { try $0.decode(0) as Int32 }
      let text = try PackageText.text(ReportingPage.path)
      #expect(version.count == 1 && version.allSatisfy { text.contains("version \($0).") }, "\(version)")
    }
  }
}
