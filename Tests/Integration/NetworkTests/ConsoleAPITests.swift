import Foundation
import LocalProcesses
import Operations
import Postgres
import TestServers
import Testing

extension WholeNetwork {
  /// `docs/openapi.yaml` against a console that shows a living network.
  @Suite struct ConsoleAPITests {
    private static let document = "docs/openapi.yaml"

    @Test("docs/openapi.yaml has every path of the API, and no other")
    func paths() throws {
      let text = try String(contentsOfFile: PackageRoot.path(Self.document), encoding: .utf8)
      let documented = text.split(separator: "\n").filter { $0.hasPrefix("  /") && $0.hasSuffix(":") }
        .map { String($0.dropFirst(2).dropLast()) }
      #expect(
        Set(documented) == [
          ConsoleAPI.reports, ConsoleAPI.reports + "/{dimension}", ConsoleAPI.anomalies, ConsoleAPI.conversions,
          ConsoleAPI.explain + "/{id}",
          ConsoleAPI.reconciliation, ConsoleAPI.catalog,
        ])
      let routes = try String(
        contentsOfFile: PackageRoot.path("Services/Console/ConsoleRoutes.swift"), encoding: .utf8)
      #expect(routes.matches(of: /router\.(get|post|on)\(ConsoleAPI/).count == documented.count)
      #expect(text.contains("\n  version: 1."), "the path has the major version, the document all of it")
    }

    @Test(
      "every answer of the console is as docs/openapi.yaml says, field by field",
      .enabled(if: ConformancePython.path != nil, "pip cannot install Tests/Conformance/requirements.txt"))
    func answers() async throws {
      let python = try #require(ConformancePython.path)
      let folder = try TemporaryFolder(prefix: "hbc")
      try folder.letOthersEnter()
      try await onOwnThread {
        let network = try ChildProcess(
          .init(
            Programs.own.path("handbill"),
            ["up", "--folder", folder.path + "/up", "--kafka", "embedded", "--rate", "40", "--click-rate", "30"],
            environment: ["SWIFT_BACKTRACE": "enable=no"]))
        defer { network.terminate(graceMilliseconds: 30_000) }
        _ = try network.waitForLine(prefix: "Ctrl-C ends it", timeoutMilliseconds: 120_000)
        let environment = try Self.environment(folder.path + "/up/environment")
        let database = try PostgresConnection(
          PostgresConfiguration(try #require(environment["HANDBILL_DATABASE_URL"])))
        defer { database.close() }
        try database.awaitValue(of: "SELECT count(DISTINCT verdict) >= 2 FROM click_tracking.click", true)
        try database.awaitValue(of: "SELECT count(*) >= 100 AND count(DISTINCT kind) = 2 FROM billing.charge", true)
        try database.awaitValue(of: "SELECT count(DISTINCT reason) >= 4 FROM ad_selection.decision", true)
        try database.executeScript(Self.rareRows)
        let ids = try database.query(Self.ids).map { try $0.decode(0) as String }
        let said = try Shell.run(
          python,
          [
            PackageRoot.path("Tests/Conformance/console_api.py"), try #require(environment["HANDBILL_CONSOLE_URL"]),
            PackageRoot.path(Self.document),
          ] + ids)
        let counts = try JSONDecoder().decode(Counts.self, from: Data(said.utf8))
        #expect(counts.answers.count == 7 && counts.answers.values.allSatisfy { $0["200", default: 0] > 0 }, "\(said)")
        // Every part of an explanation was seen with something in it.
        let empty = counts.parts.filter { $0.value == 0 }.keys
        #expect(counts.parts.count >= 13 && empty.allSatisfy { $0 == "otherServeIds" }, "\(said)")
      }
    }

    private struct Counts: Decodable {
      let answers: [String: [String: Int]]
      let parts: [String: Int]
    }

    /// One row each of what seldom happens, made of what did.
    private static let rareRows = """
      INSERT INTO billing.suspense SELECT (jsonb_populate_record(NULL::billing.suspense, to_jsonb(c)
        || jsonb_build_object('sequence', 7, 'arrival', event_time, 'reason', 'why'))).* FROM billing.charge c LIMIT 1;
      INSERT INTO click_tracking.parked_row SELECT (jsonb_populate_record(NULL::click_tracking.parked_row,
        to_jsonb(c) || '{"record_offset": 7, "is_accidental": true, "expires_at": "2030-03-01"}')).* FROM click_tracking.click_row c LIMIT 1;
      INSERT INTO click_tracking.stopped_action SELECT (jsonb_populate_record(NULL::click_tracking.stopped_action,
        to_jsonb(c) || '{"kind": 2}')).* FROM click_tracking.click c LIMIT 1;
      INSERT INTO impression_tracking.failure SELECT (jsonb_populate_record(NULL::impression_tracking.failure,
        to_jsonb(d) || '{"app": "stranger"}')).* FROM ad_selection.decision d WHERE error IS NOT NULL LIMIT 1;
      INSERT INTO click_tracking.rejected (partition, topic, record_offset, batch_number, arrival, reason, detail, value,
        value_length, value_hash) SELECT 0, 'ads.clicks', 999999, 1, now(), 74, 'why', uuid_send(serve_id), 16, ''
        FROM billing.suspense;
      INSERT INTO console.anomaly (app, hour, kind, events, of_events, limit_basis_points)
        VALUES ('chess', date_trunc('hour', now()), 1, 60, 100, 2500);
      INSERT INTO click_tracking.conversion (serve_id, id_hash, batch_number, value, event_time, arrival, partition, kind,
        is_test, app, currency)
      SELECT serve_id, 7, batch_number, 5000000000, now(), now(), partition, vocabulary.conversion_kind('install'), false,
        'shop', 'USD'
      FROM click_tracking.click WHERE verdict = vocabulary.click_verdict('billable') AND NOT is_test LIMIT 1;
      WITH lowered AS (
        UPDATE ad_selection.decision_row SET paid_ads = vocabulary.paid_ads_state('withheld')
        WHERE (serve_id, partition) IN (SELECT serve_id, partition FROM ad_selection.decision
          WHERE catalog_change IS NOT NULL AND error IS NOT NULL LIMIT 1)
        RETURNING app, catalog_change
      )
      INSERT INTO catalog.history (key, version, body, is_deleted, change_number)
      SELECT 'standing/' || app, 1, jsonb_build_object('app', app, 'offerPartsPerMillion', 500000, 'stopped', 50,
        'tapped', 100), false, catalog_change FROM lowered;
      INSERT INTO catalog.record (key, kind, body, version, change_number)
      SELECT 'standing/chess', 'standing', '{"app": "chess", "offerPartsPerMillion": 500000, "stopped": 50, "tapped": 100}', 1,
        nextval('catalog.change_number');
      """

    /// Ads and requests of all kinds, and those of the rare rows.
    private static let ids = """
      SELECT serve_id::text FROM (SELECT DISTINCT ON (reason) serve_id FROM ad_selection.decision) AS reasons
      UNION SELECT serve_id::text FROM (SELECT DISTINCT ON (verdict) serve_id FROM click_tracking.click) AS verdicts
      UNION SELECT serve_id::text FROM (SELECT DISTINCT ON (kind, fate) serve_id FROM billing.charge) AS fates
      UNION SELECT serve_id::text FROM (SELECT DISTINCT ON (kind) serve_id FROM impression_tracking.delivery) AS kinds
      UNION (SELECT serve_id::text FROM ad_selection.decision LIMIT 20)
      UNION (SELECT request_id::text FROM ad_selection.decision LIMIT 3)
      UNION SELECT serve_id::text FROM billing.suspense UNION SELECT serve_id::text FROM click_tracking.parked
      UNION SELECT serve_id::text FROM click_tracking.stopped_action
      UNION SELECT serve_id::text FROM click_tracking.conversion
      UNION SELECT serve_id::text FROM ad_selection.decision WHERE paid_ads = vocabulary.paid_ads_state('withheld')
      UNION SELECT request_id::text FROM impression_tracking.failure
      """

    /// The file for scripts: `export NAME='VALUE'` in each line.
    private static func environment(_ path: String) throws -> [String: String] {
      let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      return Dictionary(
        lines.compactMap { line in
          line.wholeMatch(of: /export ([A-Z_]+)='(.*)'/).map { (String($0.output.1), String($0.output.2)) }
        }, uniquingKeysWith: { _, last in last })
    }
  }
}
