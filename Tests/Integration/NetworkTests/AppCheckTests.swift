import AdBasics
import Foundation
import LocalProcesses
import TestValues
import Testing

extension WholeNetwork {
  /// `handbill app check`, for an app that is being set up.
  @Suite struct AppCheckTests {
    private struct Finding: Decodable {
      let area: String
      let subject: String
      let state: String
      let found: String
      let advice: String?
    }

    private func check(
      _ network: TestNetwork, _ app: String, _ arguments: [String] = []
    ) throws -> (status: Int32, findings: [Finding]) {
      let run = try network.command(["app", "check", app, "--json"] + arguments, accepting: [0, 1])
      return (run.status, try JSONDecoder().decode([Finding].self, from: Data(run.output.utf8)))
    }

    @Test("A1, A3, A9, A5: what an app lacks is said one by one, and an ad comes once nothing is missing")
    func check() async throws {
      let catalog = sampleCatalogFile(app: "chess", key: GoldenCaseTests.key)
      let network = try await TestNetwork.started(
        .init(services: ["ad-selection", "billing", "console", "edge"], apps: ["chess"], catalog: catalog))
      defer { network.stop() }
      try await onOwnThread {
        try network.awaitAllotments()
        let stranger = try check(network, "go")
        #expect(stranger.status == 1 && stranger.findings.map(\.found) == ["app go is not registered"])

        let keyFile = network.folder.path("key")
        try Data("\(GoldenCaseTests.key)\n".utf8).write(to: URL(fileURLWithPath: keyFile))
        // Its images are nowhere.
        let overKafka = ["--key-file", keyFile, "--no-images"]
        let edge = overKafka + ["--edge", "http://127.0.0.1:\(network.edgePort)"]
        for way in [edge, overKafka] {
          let good = try check(network, "chess", way)
          #expect(good.status == 0 && good.findings.count == 6, "\(good.findings)")
          #expect(good.findings.last?.found.contains("in 320 x 50, serve ") == true, "\(good.findings)")
        }

        try Data("another".utf8).write(to: URL(fileURLWithPath: keyFile))
        let wrong = try check(network, "chess", edge)
        #expect(wrong.status == 1)
        let said = wrong.findings.filter { $0.state == "wrong" }.map(\.found)
        #expect(said.count == 2 && said[0] == "the catalogue has no such key" && said[1].contains("A1"), "\(said)")

        let nowhere = try check(network, "chess", ["--key-file", keyFile, "--edge", "http://127.0.0.1:9"])
        #expect(nowhere.findings.last?.state == "wrong", "\(nowhere.findings)")
        #expect(nowhere.findings.last?.advice?.hasPrefix("look at the address") == true, "\(nowhere.findings)")
        #expect(wrong.findings.last?.advice?.hasPrefix("handbill explain ") == true)

        try network.command(["catalog", "set", "app/chess", "areAdsEnabled=false"])
        let disabled = try check(network, "chess")
        #expect(disabled.status == 1 && disabled.findings.contains { $0.found.contains("A3") && $0.state == "wrong" })
      }
    }
  }
}
