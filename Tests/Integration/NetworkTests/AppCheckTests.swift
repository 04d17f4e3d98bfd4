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

    /// What `catalog apply --json` tells.
    private struct Applied: Decodable {
      struct Provisioned: Decodable {
        let app: String
        let topic: String
        let rights: String
      }

      struct Step: Decodable {
        let command: String?
      }

      let brokers: [Provisioned]
      let nextSteps: [Step]
    }

    private struct Topic: Decodable {
      let topic: String
      let partitions: Int?
    }

    private func check(
      _ network: TestNetwork, _ app: String, _ arguments: [String] = []
    ) throws -> (status: Int32, findings: [Finding]) {
      let run = try network.command(["app", "check", app, "--json"] + arguments, accepting: [0, 1])
      return (run.status, try JSONDecoder().decode([Finding].self, from: Data(run.output.utf8)))
    }

    /// A catalogue of one more app, with a key of its own that may be revoked.
    private func more(_ app: String, key: String, isRevoked: Bool = false) -> String {
      """
      {
        "developers": [ { "id": "yardley", "name": "Yardley" } ],
        "apps": [
          { "id": "\(app)", "developer": "yardley", "name": "\(app)", "bundleID": "com.example.\(app)",
            "isAgreementSigned": true, "isUnder17": false, "areAdsEnabled": true }
        ],
        "appKeys": [ { "app": "\(app)", "build": "distribution", "key": "\(key)", "isRevoked": \(isRevoked) } ]
      }
      """
    }

    private func apply(
      _ network: TestNetwork, _ catalog: String, settings: [String: String] = [:]
    ) throws -> Applied {
      let file = network.folder.path("more.json")
      try Data(catalog.utf8).write(to: URL(fileURLWithPath: file))
      let run = try network.command(["catalog", "apply", file, "--json"], settings: settings)
      return try JSONDecoder().decode(Applied.self, from: Data(run.output.utf8))
    }

    /// Nothing says where Kafka is.
    private static let withoutKafka = [
      "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": "", "HANDBILL_KAFKA_EMBEDDED": "", "HANDBILL_KAFKA_CONTROL_SOCKET": "",
    ]

    @Test(
      "what is written of an app makes its topic as the network's own are, once; without Kafka it is said what to do")
    func provisioning() async throws {
      let network = try await TestNetwork.started(
        .init(partitions: 3, services: [], apps: [], catalog: sampleCatalogFile(app: "chess", key: GoldenCaseTests.key))
      )
      defer { network.stop() }
      try await onOwnThread {
        func partitions(_ app: String) throws -> Int? {
          let run = try network.command(
            ["topics", "list", "-p", "3", "--app", app, "--json"], accepting: [0, 1])
          let topics = try JSONDecoder().decode([Topic].self, from: Data(run.output.utf8))
          return topics.first { $0.topic == "ads.responses.\(app)" }?.partitions
        }
        #expect(try partitions("chess") == 3, "made when the network's catalogue was written")
        let first = try apply(network, more("go", key: "key-of-go-number-one"), settings: Self.withoutKafka)
        #expect(first.brokers.isEmpty && first.nextSteps.map(\.command) == ["handbill topics create --app go"])
        #expect(try partitions("go") == nil)
        let second = try apply(network, more("go", key: "key-of-go-number-one"))
        #expect(
          second.brokers.map(\.app) == ["go"] && second.nextSteps.isEmpty,
          "nothing of it changed, and its topic was missing")
        #expect(try partitions("go") == 3)
        let third = try apply(network, more("go", key: "key-of-go-number-one"))
        #expect(third.brokers.first?.topic.hasPrefix("ads.responses.go ") == true && third.nextSteps.isEmpty)
        if !network.isBrokerEmbedded {
          #expect(second.brokers.first?.topic == "ads.responses.go created, 3 partitions")
          #expect(third.brokers.first?.topic == "ads.responses.go existed, 3 partitions")
        }
        #expect(third.brokers.first?.rights.hasPrefix("not needed: ") == true)
        let away = try apply(
          network, more("reversi", key: "key-of-reversi-one"),
          settings: ["HANDBILL_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1", "HANDBILL_KAFKA_EMBEDDED": ""])
        #expect(away.nextSteps.map(\.command).contains("handbill topics create --app reversi"))
        #expect(away.brokers.first?.topic.hasPrefix("not made: ") == true)
      }
    }

    @Test("A1: a key that is revoked, another app's key and a missing topic are each said by name")
    func wrongKeys() async throws {
      let catalog = sampleCatalogFile(app: "chess", key: GoldenCaseTests.key)
      let network = try await TestNetwork.started(
        .init(services: ["ad-selection", "console", "edge"], apps: [], catalog: catalog))
      defer { network.stop() }
      try await onOwnThread {
        _ = try apply(network, more("go", key: "revoked-key-of-go-1", isRevoked: true))
        _ = try apply(network, more("reversi", key: "key-of-reversi-one"), settings: Self.withoutKafka)
        let keyFile = network.folder.path("key")
        func wrong(_ app: String, _ key: String, overEdge: Bool = true) throws -> [Finding] {
          try Data(key.utf8).write(to: URL(fileURLWithPath: keyFile))
          let edge = overEdge ? ["--edge", "http://127.0.0.1:\(network.edgePort)"] : []
          let run = try check(network, app, ["--key-file", keyFile, "--no-images"] + edge)
          #expect(run.status == 1)
          return run.findings.filter { $0.state == "wrong" }
        }
        // Readers hear of it within the second.
        var revoked: [Finding] = []
        let isSeen = try Waiting.until {
          revoked = try wrong("go", "revoked-key-of-go-1")
          return revoked.last?.found.contains("the app key is revoked") == true
        }
        #expect(isSeen, "\(revoked)")
        #expect(revoked.map(\.subject).contains("key (A1)") && revoked.contains { $0.found == "it is revoked" })
        #expect(revoked.contains { $0.found.contains("A1") && $0.subject == "app" }, "no key that is not revoked")

        let others = try wrong("chess", "key-of-reversi-one")
        #expect(others.first?.found == "it is a key of app reversi")
        #expect(others.first?.advice?.contains("put a key of chess into the build") == true)
        #expect(others.last?.area == "answer" && others.last?.found.contains("A1") == true, "\(others)")

        let topic = try wrong("reversi", "key-of-reversi-one", overEdge: false)
        let missing = topic.filter { $0.area == "topics" }
        #expect(missing.map(\.found) == ["missing"] && missing.first?.subject == "ads.responses.reversi")
        #expect(missing.first?.advice == "handbill topics create --app reversi")
        #expect(topic.last?.area == "answer", "\(topic)")
        try network.command(["topics", "create", "-p", "4", "--app", "reversi"])
        let mended = try check(network, "reversi")
        #expect(mended.status == 0, "\(mended.findings)")
      }
    }

    @Test("A1, A3, A9, A5, E8: what an app lacks is said one by one, and an ad comes once nothing is missing")
    func check() async throws {
      // Its images are nowhere.
      let catalog = sampleCatalogFile(app: "chess", key: GoldenCaseTests.key)
        .replacing("https://acme.example/p.png", with: "http://127.0.0.1:9/p.png")
        .replacing("https://acme.example/l.png", with: "http://127.0.0.1:9/l.png")
      let network = try await TestNetwork.started(
        .init(services: ["ad-selection", "billing", "console", "edge"], apps: ["chess"], catalog: catalog))
      defer { network.stop() }
      try await onOwnThread {
        try network.awaitAllotments()
        let stranger = try check(network, "go")
        #expect(stranger.status == 1 && stranger.findings.map(\.found) == ["app go is not registered"])

        let keyFile = network.folder.path("key")
        try Data("\(GoldenCaseTests.key)\n".utf8).write(to: URL(fileURLWithPath: keyFile))
        let overKafka = ["--key-file", keyFile, "--no-images"]
        let edge = overKafka + ["--edge", "http://127.0.0.1:\(network.edgePort)"]
        for (way, topics) in [(edge, 0), (overKafka, 1)] {
          let good = try check(network, "chess", way)
          #expect(good.status == 0 && good.findings.count == 6 + topics, "\(good.findings)")
          // Devices that come by the edge need no topic of the app's.
          #expect(good.findings.count { $0.area == "topics" } == topics)
          #expect(good.findings.last?.found.contains("in 320 x 50, serve ") == true, "\(good.findings)")
        }

        let images = try check(
          network, "chess", ["--key-file", keyFile, "--edge", "http://127.0.0.1:\(network.edgePort)"])
        #expect(images.status == 1)
        let image = try #require(images.findings.last)
        #expect(image.found.hasPrefix("assetLoadFailure: an image cannot be had from http://127.0.0.1:9/"), "\(image)")
        #expect(image.advice?.hasPrefix("look at the image's address") == true, "\(image)")

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
