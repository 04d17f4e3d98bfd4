import AdCore
import Foundation
import HTTP
import LocalProcesses
import Postgres
import Runtime
import TestValues
import Testing

extension WholeNetwork {
  /// The console's API and the commands beside it, on services whose windows are not the defaults.
  @Suite struct ConsoleTests {
    private static let apps = ["weather", "tide-tables", "chess", "puzzle-farm", "recipes", "reader", "sketches"]
    /// So short that nothing can arrive any more seconds after it was served, and so long that nothing comes too late on
    /// a busy machine: the devices' own tally counts on that.
    private static let windows = [
      "HANDBILL_LATE_ARRIVAL": "15s", "HANDBILL_BANNER_TOKEN_LIFE": "5s", "HANDBILL_CONTENT_LIFE_MINIMUM": "3s",
      "HANDBILL_CONTENT_LIFE_MAXIMUM": "4s", "HANDBILL_INTERSTITIAL_TOKEN_EXTRA": "1s",
      "HANDBILL_RECONCILIATION_INTERVAL": "1s",
    ]

    @Test("I7c: serves are final by the windows of the services, for a command and a console that are told others")
    func finality() async throws {
      let network = try await TestNetwork.started(.init(apps: Self.apps, catalog: "{}", settings: Self.windows))
      defer { network.stop() }
      try await onOwnThread {
        try network.command(["seed"])
        try network.awaitAllotments()
        try checkOpenBroker(network)
        let tally = network.folder.path("tally.json")
        try network.command(["simulate", "--duration", "3s", "--rate", "40", "--garbage", "0", "--tally", tally])
        try network.command(["drain", "--timeout", "120s"])
        try network.awaitCount(
          """
          SELECT count(*) FROM ad_selection.decision d JOIN impression_tracking.partition p USING (partition)
          WHERE d.expires_at + interval '15 s' > p.watermark
          """, 0)
        // The command is told the defaults, and judges by what is stored.
        let others = Dictionary(
          uniqueKeysWithValues: Self.windows.keys.map { ($0, $0.hasSuffix("ARRIVAL") ? "24h" : "600s") })
        let told = try network.command(["reconcile", "--json", "--tally", tally], settings: others).output
        let reconciliation = try #require(try object(told))
        let finality = try #require(reconciliation["finality"] as? [String: Any])
        let serves = try #require(finality["serves"] as? Int)
        #expect(serves > 20 && finality["final"] as? Int == serves, "\(finality)")
        let checks = try #require(reconciliation["checks"] as? [[String: Any]])
        #expect(checks.contains { $0["rule"] as? String == "I7c" && $0["compared"] as? Int == serves })
        try checkConsole(network, serves: serves)
        try checkOtherHost(network)
        try checkExplanations(network)
      }
    }

    /// Each service says once that its broker lets everybody do everything; the embedded one is meant to.
    private func checkOpenBroker(_ network: TestNetwork) throws {
      guard !network.isBrokerEmbedded else { return }
      for service in network.plan.services {
        #expect(
          Waiting.until { network.log(service).components(separatedBy: "the brokers are open").count == 2 },
          "\(service)")
      }
    }

    /// The last comparison that came to its end, at once.
    private func checkConsole(_ network: TestNetwork, serves: Int) throws {
      var finality: [String: Any]?
      var wasThere = false
      let isFinal = try Waiting.until {
        let asked = SystemClock().now
        let answer = try get(network, "reconciliation")
        let finished = (answer["finishedAt"] as? String).flatMap { Timestamp(utcText: $0) }
        // Before the first has come to its end there is none; a later one may end while the answer is under way.
        if let finished {
          #expect(answer["startedAt"] is String)
          wasThere = wasThere || finished <= asked
        }
        finality = answer["finality"] as? [String: Any]
        return wasThere && finality?["final"] as? Int == serves
      }
      #expect(isFinal, "made for the asking: \(!wasThere); \(String(describing: finality))")
      let report = try get(network, "reports?group=app&limit=2")
      #expect(report["isCut"] as? Bool == true && (report["rowsTotal"] as? Int ?? 0) > 2)
      let rest = try #require(report["rest"] as? String)
      let whole = try object(String(decoding: HTTPClient.get(address(network) + rest).body, as: UTF8.self))
      #expect((whole?["rows"] as? [Any])?.count == report["rowsTotal"] as? Int && whole?["isCut"] as? Bool == false)
      #expect(try HTTPClient.get(address(network) + "/api/reports").status == 404)
    }

    /// A page whose own name was made to lead here reads nothing.
    private func checkOtherHost(_ network: TestNetwork) throws {
      let port = try #require(UInt16(exactly: network.consolePort))
      for path in ["/", "/api/v1/reports", "/api/v1/catalog", "/api/v1/reconciliation", "/api/v1/anomalies"] {
        let request = "GET \(path) HTTP/1.1\r\nHost: evil.example:\(port)\r\nConnection: close\r\n\r\n"
        let answer = try HTTPClient.exchange(Array(request.utf8), host: "127.0.0.1", port: port)
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 421 "), "\(path)")
      }
    }

    /// By request id, and as the request id stands in JSON; what was refused, too.
    private func checkExplanations(_ network: TestNetwork) throws {
      let connection = try network.connection()
      defer { connection.close() }
      let rows = try connection.query(
        """
        SELECT DISTINCT ON (reason) request_id::text, encode(uuid_send(request_id), 'base64'), ad IS NOT NULL
        FROM ad_selection.decision JOIN (
          -- One that was asked again on a slow machine may have been refused first and served then.
          SELECT request_id FROM ad_selection.decision GROUP BY request_id HAVING count(*) = 1
        ) AS decided_once USING (request_id) ORDER BY reason, serve_id
        """)
      #expect(rows.count >= 3)
      for row in rows {
        let id: String = try row.decode(0)
        let isServed: Bool = try row.decode(2)
        let told = try #require(try object(network.command(["explain", "--json", try row.decode(1)]).output))
        #expect(told["requestId"] as? String == id && told["isServed"] as? Bool == isServed)
        let shown = try get(network, "explain/\(id)")
        #expect(shown["serveId"] as? String == told["serveId"] as? String)
      }
      let unknown = "0197e4a2-8c1b-7d3e-9f00-3a5b7c9d1e2f"
      try network.command(["explain", unknown], accepting: [1])
      try network.command(["explain", "what?"], accepting: [64])
      #expect(try HTTPClient.get(address(network) + "/api/v1/explain/\(unknown)").status == 404)
    }

    private func address(_ network: TestNetwork) -> String { "http://127.0.0.1:\(network.consolePort)" }

    private func get(_ network: TestNetwork, _ path: String) throws -> [String: Any] {
      let answer = try HTTPClient.get("\(address(network))/api/v1/\(path)")
      return try #require(try object(String(decoding: answer.body, as: UTF8.self)))
    }

    private func object(_ text: String) throws -> [String: Any]? {
      try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    }

    @Test(
      "every command that uses PostgreSQL ends with 69 while that is away",
      arguments: [
        ["report"], ["report", "--anomalies"], ["explain", "0197e4a2-8c1b-7d3e-9f00-3a5b7c9d1e2f"], ["reconcile"],
        ["rejected", "list"], ["rejected", "list", "--summary"], ["rejected", "show", "billing/ads.usage/0/1"],
        ["rejected", "replay", "--since", "1h", "--dry-run"], ["catalog", "list"],
        ["catalog", "set", "settings", "countries=US"],
        ["migrate", "up"], ["migrate", "status"], ["seed"], ["republish", "ads.budgets"], ["log", "accept", "all"],
        ["log", "skip", "billing", "ads.usage", "3", "--from", "1", "--to", "2"],
      ])
    func away(arguments: [String]) async throws {
      let folder = try TemporaryFolder(prefix: "hbc")
      let status = try await onOwnThread {
        let process = try ChildProcess(
          .init(
            Programs.own.path("handbill"), arguments,
            environment: [
              "HANDBILL_DATABASE_URL": "postgresql://127.0.0.1:1/handbill?connect_timeout=2",
              "SWIFT_BACKTRACE": "enable=no",
              "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
            ], output: .file(folder.path("output")), errorOutput: .file(folder.path("output"))))
        return process.waitForExit(timeoutMilliseconds: 30_000)
      }
      let said = try String(contentsOfFile: folder.path("output"), encoding: .utf8)
      #expect(status == .exited(69), "\(said)")
      #expect(said.contains("PostgreSQL"), "\(said)")
    }
  }
}
