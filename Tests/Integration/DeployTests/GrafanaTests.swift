import Foundation
import LocalProcesses
import Postgres
import TestServers
import TestServices
import Testing

/// What the tests read of a dashboard's file.
private struct Dashboard: Decodable {
  struct Panel: Decodable {
    struct Target: Decodable {
      struct DataSource: Decodable { var uid: String }

      var datasource: DataSource
      var expr: String?
      var rawSql: String?
      var format: String?
    }

    var id: Int
    var title: String
    var description: String
    var targets: [Target]
  }

  var uid: String
  var title: String
  var panels: [Panel]

  static func all() throws -> [Dashboard] {
    try PackageText.paths(in: "deploy/grafana/dashboards", ending: ".json").map { path in
      try JSONDecoder().decode(Dashboard.self, from: Data(try PackageText.text(path).utf8))
    }
  }

  var targets: [(panel: String, target: Panel.Target)] {
    panels.flatMap { panel in panel.targets.map { ("\(title) / \(panel.title)", $0) } }
  }
}

@Suite("Dashboards")
struct GrafanaTests {
  @Test("There is a dashboard for the business, the services, what they stand on, and the money")
  func dashboards() throws {
    let dashboards = try Dashboard.all()
    #expect(Set(dashboards.map(\.uid)) == ["business", "services", "infrastructure", "money"])
    for dashboard in dashboards {
      #expect(dashboard.panels.count >= 10)
      #expect(Set(dashboard.panels.map(\.id)).count == dashboard.panels.count)
      for panel in dashboard.panels {
        #expect(!panel.title.isEmpty && panel.description.count > 20, "\(dashboard.title) / \(panel.title)")
      }
    }
  }

  @Test("Every panel reads from a data source that is provisioned, by an expression of its kind")
  func dataSources() throws {
    let provisioned = try PackageText.text("deploy/grafana/provisioning/datasources/handbill.yaml")
    for (panel, target) in try Dashboard.all().flatMap(\.targets) {
      #expect(provisioned.contains("\n    uid: \(target.datasource.uid)\n"), "\(panel)")
      #expect((target.datasource.uid == "prometheus") == (target.expr != nil), "\(panel)")
      #expect((target.datasource.uid == "handbill") == (target.rawSql != nil), "\(panel)")
    }
  }

  @Test("Every metric that a panel names is one that a service declares")
  func metricNames() throws {
    let known = Set(try DeclaredMetric.all().flatMap(\.storedNames)).union(PromQL.foreign)
    for (panel, target) in try Dashboard.all().flatMap(\.targets) {
      guard let expression = target.expr else { continue }
      let names = PromQL.metricNames(expression)
      #expect(!names.isEmpty, "\(panel)")
      #expect(names.subtracting(known).isEmpty, "\(panel): \(names.subtracting(known))")
    }
  }

  /// A little of everything that the services count.
  private static let counts = """
    INSERT INTO ad_selection.minute_count (partition, minute, reason, app, placement, campaign, ad, country, device, size,
      is_test, requests, fills) VALUES
      (0, date_trunc('minute', now()), 1, 'chess', 'home', 'brand', 'one', 'US', 1, 1, false, 100, 100),
      (1, date_trunc('minute', now()), 33, 'chess', 'home', '', '', 'US', 1, 1, false, 60, 0);
    INSERT INTO impression_tracking.minute_count (partition, minute, kind, error, app, campaign, ad, placement, country,
      size, device, is_test, events) VALUES
      (0, date_trunc('minute', now()), 2, -1, 'chess', 'brand', 'one', 'home', 'US', 1, 1, false, 90);
    INSERT INTO click_tracking.minute_count (partition, minute, kind, verdict, app, campaign, ad, placement, country, size,
      device, is_test, events) VALUES
      (0, date_trunc('minute', now()), 1, 1, 'chess', 'brand', 'one', 'home', 'US', 1, 1, false, 9);
    INSERT INTO billing.minute_revenue (partition, minute, kind, fate, app, developer, advertiser, campaign, ad, placement,
      country, device, size, currency, events, gross, developer_amount, network_amount) VALUES
      (0, date_trunc('minute', now()), 1, 1, 'chess', 'dev', 'adv', 'brand', 'one', 'home', 'US', 1, 1, 'USD', 90,
        900000000, 540000000, 360000000);
    """

  /// Grafana's macros as Grafana writes them out.
  private static func expanded(_ sql: String) -> String {
    sql.replacing(/\$__timeFilter\(([a-z_:]+)\)/) { match in
      "\(match.output.1) BETWEEN now() - interval '30 minutes' AND now()"
    }
    .replacing("$__timeFrom()", with: "(now() - interval '30 minutes')").replacing("$__timeTo()", with: "now()")
  }

  @Test("Every SQL of the dashboards runs on a migrated database, as the role that may only read reports")
  func statements() async throws {
    let url = try await SharedPostgres.database(copyOf: TestDatabase.bare)
    let writer = try PostgresConnection(PostgresConfiguration(url))
    try writer.executeScript(Self.counts)
    writer.close()
    let targets = try Dashboard.all().flatMap(\.targets).filter { $0.target.rawSql != nil }
    #expect(targets.count >= 15)
    try await onOwnThread {
      var configuration = try PostgresConfiguration(url)
      configuration.sessionSettings["role"] = "handbill_reporting"
      configuration.sessionSettings["default_transaction_read_only"] = "on"
      let connection = try PostgresConnection(configuration)
      defer { connection.close() }
      for (panel, target) in targets {
        let sql = Self.expanded(target.rawSql ?? "")
        #expect(!sql.contains("$"), "\(panel): a macro that the test does not know")
        do throws(PostgresError) {
          let rows = try connection.query(sql)
          #expect(!rows.isEmpty || panel.hasSuffix("/ Errors") || panel.contains("complete"), "\(panel): no rows")
        } catch {
          Issue.record("\(panel): \(error)")
        }
        #expect((target.format == "time_series") == sql.contains(" AS time,"), "\(panel)")
        #expect(
          !sql.contains("reporting.by_") || target.rawSql?.contains("$__timeFrom()") == true,
          "\(panel) reads all times, whatever time is chosen")
      }
    }
  }

  @Test("The largest tables are told without a look at each one's files, those of all days as one, of every schema")
  func largestTables() async throws {
    let url = try await SharedPostgres.database(copyOf: TestDatabase.bare)
    let panel = try #require(Dashboard.all().flatMap(\.targets).first { $0.panel.hasSuffix("/ Largest tables") })
    let sql = try #require(panel.target.rawSql).replacing(" LIMIT 20", with: "")
    #expect(!sql.contains("_size("))
    try await onOwnThread {
      let connection = try PostgresConnection(PostgresConfiguration(url))
      defer { connection.close() }
      try connection.executeScript(Self.counts + "ANALYZE ad_selection.minute_count;")
      let schemas: String? = try connection.query(
        "SELECT string_agg(DISTINCT schema, ' ' ORDER BY schema) FROM (\(sql)) AS t"
      ).first?.decode(0)
      let own: String? = try connection.query(
        """
        SELECT string_agg(DISTINCT table_schema, ' ' ORDER BY table_schema) FROM information_schema.tables
        WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')
        """
      ).first?.decode(0)
      #expect(own?.contains("sealed") == true && schemas == own)
      let days: Int64? = try connection.query(
        """
        SELECT count(*) FROM (\(sql)) AS t JOIN pg_namespace n ON n.nspname = t.schema
        JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.table JOIN pg_inherits h ON h.inhrelid = c.oid
        """
      ).first?.decode(0)
      #expect(days == 0)
      let isWhole: Bool? = try connection.query(
        """
        SELECT t.bytes = sum(pg_relation_size(p.relid) + pg_indexes_size(p.relid))
        FROM (\(sql)) AS t CROSS JOIN pg_partition_tree('ad_selection.minute_count') p
        WHERE t.schema = 'ad_selection' AND t.table = 'minute_count' GROUP BY t.bytes
        """
      ).first?.decode(0)
      #expect(isWhole == true)
    }
  }

  @Test("The reading role can write nothing, and see nothing but reports")
  func reading() async throws {
    let url = try await SharedPostgres.database(copyOf: TestDatabase.bare)
    try await onOwnThread {
      var configuration = try PostgresConfiguration(url)
      configuration.sessionSettings["role"] = "handbill_reporting"
      let connection = try PostgresConnection(configuration)
      defer { connection.close() }
      for sql in ["SELECT * FROM billing.charge LIMIT 1", "CREATE TABLE reporting.mine (id int)"] {
        #expect(throws: PostgresError.self) { try connection.query(sql) }
      }
    }
  }
}
