import Foundation
import HTTP
import LocalProcesses
import Testing

extension WholeNetwork {
  /// Fault 29: names that mean something to whatever shows them.
  @Suite struct HostileNamesTests {
    private static let names = [
      "<script>alert(1)</script>", "'; DROP TABLE ad_selection.decision; --", "=cmd()|' /C calc'!A0",
      "{{7*7}} %n%s", "\" onload=\"x", "\u{202E}gnp.exe",
    ]
    /// Controls, which no name may have.
    private static let refused = ["\u{1B}[31m", "\u{2028}", "a\r\nb", "a\u{0}b"]

    /// An advertiser of each name, with the name as JSON writes it.
    private static func catalog(_ names: [String]) throws -> String {
      let advertisers = names.enumerated().map { index, name in
        [
          "id": "hostile-\(index)", "name": name, "currency": "USD", "timeZone": "UTC", "accountFunding": "1.00",
        ]
      }
      let data = try JSONSerialization.data(withJSONObject: ["advertisers": advertisers])
      return String(decoding: data, as: UTF8.self)
    }

    private static let paths = [
      "/", "/?traffic=%3Cscript%3E", "/api/v1/reports", "/api/v1/reports/%3Cscript%3E", "/api/v1/reports?app=';--",
      "/api/v1/reports?app=%00", "/api/v1/catalog", "/api/v1/catalog?kind=%3Cscript%3Ealert(1)%3C/script%3E",
      "/api/v1/catalog?after=%00", "/api/v1/catalog?after=%3Cscript%3E",
      "/api/v1/anomalies",
      "/api/v1/explain/%3Cscript%3E", "/api/v1/reconciliation", "/%3Cscript%3E", "/..%2f..%2fetc%2fpasswd",
    ]

    @Test("Names and addresses of strangers are shown as text: pages, API, terminal, logs and metrics")
    func crawl() async throws {
      let network = try await TestNetwork.started(
        .init(partitions: 1, services: ["console"], apps: [], catalog: try Self.catalog(Self.names)))
      defer { network.stop() }
      try await onOwnThread {
        for path in Self.paths {
          let answer = try HTTPClient.get("http://127.0.0.1:\(network.consolePort)\(path)")
          let text = String(decoding: answer.body, as: UTF8.self)
          // The first comparison of the accounts may not have come to its end.
          #expect(answer.status < 500 || path.hasSuffix("reconciliation") && answer.status == 503, "\(path): \(text)")
          #expect(!isRunnable(text, of: answer), "\(path): \(text)")
        }
        try checkCatalog(network)
        for name in Self.refused {
          let file = network.folder.path("refused.json")
          try Self.catalog([name]).write(toFile: file, atomically: true, encoding: .utf8)
          try network.command(["catalog", "apply", file], accepting: [1])
        }
        let list = try network.command(["catalog", "list"]).output
        #expect(!list.unicodeScalars.contains { ["\u{1B}", "\u{202E}", "\u{2028}"].contains($0) }, "\(list)")
        for line in network.log("console").split(separator: "\n") {
          #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) != nil, "\(line)")
        }
      }
    }

    /// Whether a browser would run what strangers wrote.
    private func isRunnable(_ text: String, of answer: HTTPResponse) -> Bool {
      let type = answer.headers.first { $0.name == "content-type" }?.value ?? ""
      guard type.hasPrefix("text/html") else { return false }
      return text.lowercased().contains("<script") || text.contains("\" onload=")
    }

    /// They come back as they were written.
    private func checkCatalog(_ network: TestNetwork) throws {
      let answer = try HTTPClient.get("http://127.0.0.1:\(network.consolePort)/api/v1/catalog?kind=advertiser")
      let rows = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
      let names = (rows?["rows"] as? [[String: Any]])?.compactMap {
        ($0["record"] as? [String: Any])?["name"] as? String
      }
      #expect(names.map(Set.init) == Set(Self.names))
    }
  }
}
