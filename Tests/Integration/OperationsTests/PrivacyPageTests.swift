import AdEvents
import Foundation
import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

/// `docs/privacy.md` says of every table and every topic what it holds of a person.
@Suite("A8: the page of what is stored about people")
struct PrivacyPageTests {
  private static let services: Set = ["ad_selection", "impression_tracking", "click_tracking", "billing"]
  /// Columns that say nothing of a person, in tables whose rows are about one request or event.
  private static let impersonal: Set = [
    "ad", "advertiser", "allotment", "batch_number", "batch_index", "budget_day", "campaign", "candidates",
    "catalog_change", "creative", "currency", "deadline", "draw_version", "error", "excluded_counts",
    "excluded_reasons",
    "expected_value", "fate", "hour", "id", "id_hash", "is_accidental", "is_interstitial", "is_judged", "is_test",
    "kind", "last_serve_id",
    "outbid", "outcome", "paid_ads", "partition", "position", "price", "reason", "record_offset", "required_sizes",
    "reserved", "rules", "sequence", "serve_id",
    "serve_ids", "size", "target_partition", "terms", "topic", "value_length",
    "verdict",
    "void_reason", "voided_at", "was_parked",
    // Of packs.
    "allotments", "are_interstitial", "batch_indexes", "budget_days", "creatives", "deadlines_ms", "expected_values",
    "reasons", "sizes",
  ]

  private static func page() throws -> String {
    try String(contentsOfFile: PackageRoot.path("docs/privacy.md"), encoding: .utf8)
  }

  private static func section(_ title: String) throws -> String {
    let parts = try page().components(separatedBy: "\n## ")
    return try #require(parts.first { $0.hasPrefix(title + "\n") })
  }

  /// The rows of a section's table, by their cells.
  private static func rows(_ section: String) -> [[String]] {
    section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
      line.dropFirst().dropLast().components(separatedBy: " | ").map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  private static func quoted(_ text: String) -> Set<String> {
    Set(text.matches(of: /`([a-z_0-9.]+)`/).map { String($0.output.1) })
  }

  /// The database's tables as the page names them, with their columns.
  private func tables() async throws -> [String: Set<String>] {
    let pool = try await TestDatabase.pool(size: 1)
    return try await onOwnThread {
      try pool.snapshot { connection throws(PostgresError) in
        var tables: [String: Set<String>] = [:]
        let sql = """
          SELECT n.nspname, c.relname, a.attname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
          WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT LIKE 'pg\\_%'
            AND n.nspname <> 'information_schema'
          """
        for row in try connection.query(sql) {
          let (schema, table, column): (String, String, String) = (
            try row.decode(0), try row.decode(1), try row.decode(2)
          )
          tables["\(schema).\(table)", default: []].insert(column)
        }
        return tables
      }
    }
  }

  @Test(
    "every table is named, and of those whose rows are about a request or an event every column that is about a person")
  func schema() async throws {
    let section = try Self.section("In PostgreSQL")
    let personal = Self.rows(section)
    let impersonal = Self.quoted(section.components(separatedBy: "These say nothing of a person").last ?? "")
    var named = 0
    for (table, columns) in try await tables() {
      let parts = table.split(separator: ".").map(String.init)
      // What each service has is named once.
      let names = Self.services.contains(parts[0]) ? [table, parts[1]] : [table]
      let row = personal.first { row in names.contains { row[0].hasPrefix("`\($0)`") } }
      #expect((row != nil) != names.contains(where: impersonal.contains), "\(table) is named once")
      guard let row else { continue }
      named += 1
      #expect(
        Self.quoted(row[1]) == columns.subtracting(Self.impersonal), "columns of \(table)")
    }
    #expect(named == personal.count - 2 + 2 * Self.services.count)
  }

  @Test("columns that name a client, a request or what a device sent are in no other table")
  func impersonal() async throws {
    let section = try Self.section("In PostgreSQL")
    let told = Set(Self.rows(section).map { $0[0].components(separatedBy: "`")[1] })
    for (table, columns) in try await tables() {
      let name = table.split(separator: ".").map(String.init)
      guard !told.contains(table), !told.contains(name[1]) else { continue }
      // A rollup's value is of a dimension: which app, which country.
      let found = columns.subtracting(name[1].hasPrefix("rollup_") ? ["value"] : []).intersection([
        "client_hash", "client_hashes", "serve_id", "request_id", "request_ids", "segments", "value", "record_key",
        "header_values", "event_time",
      ])
      #expect(found.isEmpty, "\(table): \(found)")
    }
  }

  @Test("every topic is named, with how long it is kept")
  func topics() throws {
    let rows = Self.rows(try Self.section("In Kafka"))
    #expect(rows.count == Topic.allCases.count)
    for topic in Topic.allCases {
      let row = try #require(rows.first { $0[0].hasPrefix("`\(topic.name)`") }, "\(topic.name)")
      let kept = topic.retentionMilliseconds.map { milliseconds in
        let hours = milliseconds / 3_600_000
        return hours > 24 ? "\(hours / 24) days" : "\(hours) h"
      }
      #expect(row[2] == kept ?? "the last of each key", "\(topic.name)")
    }
  }
}
