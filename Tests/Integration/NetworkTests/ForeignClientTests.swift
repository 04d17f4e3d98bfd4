import AdCore
import AdEvents
import Foundation
import LocalProcesses
import Pipeline
import Postgres
import Runtime
import TestServers
import TestValues
import Testing

extension WholeNetwork {
  /// Clients that are not ours: kafka-python with the CloudEvents SDK, and a person with kcat.
  @Suite struct ForeignClientTests {
    static let needsKafka: Comment = """
      kafka-python speaks to a real Kafka only: set KAFKA_HOME, and let pip install Tests/Conformance/requirements.txt
      """

    @Test(
      "kafka-python and the CloudEvents SDK ask for ads, read the answers, report views and taps, and are billed",
      .enabled(if: KafkaInstallation.isAvailable && ConformancePython.path != nil, needsKafka))
    func foreignClient() async throws {
      let python = try #require(ConformancePython.path)
      let network = try await TestNetwork.started(.init(apps: ["chess"], catalog: WholeNetwork.GoldenCaseTests.catalog))
      defer { network.stop() }
      try await onOwnThread {
        try network.awaitAllotments()
        let descriptors = try ForeignClientTests.descriptors(in: network.folder)
        let said = try Shell.run(
          python,
          [
            PackageRoot.path("Tests/Conformance/foreign_client.py"), network.bootstrapServers, "chess",
            WholeNetwork.GoldenCaseTests.key, "20", descriptors,
          ])
        let outcome = try JSONDecoder().decode([String: Int].self, from: Data(said.utf8))
        let ads = try #require(outcome["ads"])
        #expect(outcome["unanswered"] == 0)
        #expect(ads > 0, "\(said)")
        try network.awaitCount("SELECT count(*) FROM billing.charge", 2 * ads)
        for (kind, amount) in [("impression", 10_000_000), ("click", 2_000_000_000)] {
          try network.awaitCount(
            """
            SELECT count(*) FROM billing.charge
            WHERE kind = vocabulary.charge_kind('\(kind)') AND amount = \(amount)
            """, ads)
        }
        #expect(try network.command(["reconcile"]).status == 0)
        try ForeignClientTests.readEverything(of: network, python: python, descriptors: descriptors)
      }
    }

    @Test(
      "examples/python: clients made from docs/protocol.md, one in JSON, ask for an ad, report it, and are billed",
      .enabled(if: KafkaInstallation.isAvailable && ConformancePython.path != nil, needsKafka))
    func example() async throws {
      let python = try #require(ConformancePython.path)
      // It runs with the packages of the conformance tests: the same ones.
      let needs = try ["examples/python", "Tests/Conformance"].map { folder in
        try String(contentsOfFile: PackageRoot.path("\(folder)/requirements.txt"), encoding: .utf8).split(
          separator: "\n")
      }
      #expect(Set(needs[0]).isSubset(of: needs[1]))
      let network = try await TestNetwork.started(.init(apps: ["chess"], catalog: WholeNetwork.GoldenCaseTests.catalog))
      defer { network.stop() }
      try await onOwnThread {
        try network.awaitCount("SELECT count(*) FROM ad_selection.allotment", network.plan.partitions)
        let messages = network.folder.path + "/python"
        try FileManager.default.createDirectory(atPath: messages, withIntermediateDirectories: true)
        let schema = PackageRoot.path("Shared/AdEvents/Schema")
        try Shell.run("protoc", ["-I", schema, "--python_out=\(messages)"] + ForeignClientTests.schemaFiles())
        func steps(of example: String) throws -> [Substring] {
          let said = try Shell.run(
            "PYTHONPATH=\(messages)",
            [
              python, PackageRoot.path("examples/python/\(example).py"), "--bootstrap", network.bootstrapServers,
              "--app", "chess", "--key", WholeNetwork.GoldenCaseTests.key,
            ])
          return said.split(separator: "\n").compactMap { $0.split(separator: " ").first }
        }
        #expect(
          try steps(of: "one_banner") == ["asked", "answered", "rendered", "viewed", "tapped", "unloaded"])
        try network.awaitCount("SELECT count(*) FROM billing.charge WHERE fate = vocabulary.charge_fate('charged')", 2)
        try network.awaitCount("SELECT count(*) FROM impression_tracking.delivery", 2)
        #expect(try steps(of: "one_request_in_json") == ["asked", "answered", "viewed"])
        try network.awaitCount("SELECT count(*) FROM billing.charge WHERE fate = vocabulary.charge_fate('charged')", 3)
      }
    }

    private static func schemaFiles() throws -> [String] {
      let folder = "handbill/v1/"
      let path = PackageRoot.path("Shared/AdEvents/Schema/" + folder)
      return try FileManager.default.contentsOfDirectory(atPath: path).sorted().map { folder + $0 }
    }

    /// The schema for Python, compiled from its files as they lie.
    private static func descriptors(in folder: TemporaryFolder) throws -> String {
      let descriptors = folder.path + "/descriptors"
      let schema = PackageRoot.path("Shared/AdEvents/Schema")
      try Shell.run(
        "protoc", ["-I", schema, "--include_imports", "--descriptor_set_out=\(descriptors)"] + schemaFiles())
      return descriptors
    }

    /// The CloudEvents SDK, as it comes out of the box, reads every record of every topic.
    private static func readEverything(of network: TestNetwork, python: String, descriptors: String) throws {
      func counts(_ topics: [Topic]) throws -> [String: [String: Int]] {
        let names = topics.map { topic in
          "\(topic.name)\(topic == .responses ? "chess" : "")=\(topic.message.schemaName)"
        }
        let script = PackageRoot.path("Tests/Conformance/read_events.py")
        let said = try Shell.run(python, [script, network.bootstrapServers, descriptors] + names)
        return try JSONDecoder().decode([String: [String: Int]].self, from: Data(said.utf8))
      }
      let clients = try counts(Topic.allCases.filter(\.isWrittenByClients))
      for type in [EventType.adRequested, .impressionViewed, .clickTapped] {
        // Each was written to a partition by chance, so most were forwarded.
        #expect(clients["\(type.name)"].map { $0["events", default: 0] >= 20 } == true, "\(type): \(clients)")
      }
      try Shell.run(
        "kcat", ["-b", network.bootstrapServers, "-P", "-t", Topic.clicks.name, "-p", "0"], input: "no event")
      try network.awaitCount("SELECT count(*) FROM click_tracking.rejected", 1)
      let ownTopics = Topic.allCases.filter { !$0.isWrittenByClients }
      var own: [String: [String: Int]] = [:]
      // What was rejected is published after it is in the table.
      _ = try Waiting.until {
        own = try counts(ownTopics)
        return own["\(EventType.eventRejected.name)"] != nil
      }
      let keyed: [EventType] = [
        .adResponded, .allotmentAsked, .allotmentGranted, .catalogChanged, .catalogHeartbeat,
      ]
      for type in keyed + [.impressionAccepted, .clickAccepted, .watermarkPassed, .eventRejected] {
        let count = try #require(own["\(type.name)"], "\(type): \(own)")
        #expect(count["keys"] == (keyed.contains(type) ? count["events"] : 0), "\(type)")
      }
    }

    @Test("docs/operations.md: a person feeds a topic by hand with kcat and JSON, to whatever partition")
    func kcat() async throws {
      let network = try await TestNetwork.started(.init(apps: ["chess"], catalog: WholeNetwork.GoldenCaseTests.catalog))
      defer { network.stop() }
      try await onOwnThread {
        let now = SystemClock().now
        var ids: [UUIDv7] = []
        for number in 0..<12 {
          let id = UUIDv7(timestamp: now, randomHigh: 1, randomLow: UInt64(number))
          ids.append(id)
          let request = """
            {"requestId":"\(Data(bytes(of: id)).base64EncodedString())","appKey":"\(WholeNetwork.GoldenCaseTests.key)","app":"chess",\
            "placement":"home","clientId":"by-hand-\(number)","sessionId":"by-hand-\(number)","country":"US",\
            "device":"DEVICE_PHONE","deadlineMilliseconds":"30000"}
            """
          try Shell.run(
            "kcat", ["-b", network.bootstrapServers, "-P", "-t", Topic.requests.name, "-p", "\(number % 4)"],
            input: request)
        }
        try network.awaitCount(
          "SELECT count(*) FROM ad_selection.decision WHERE placement = 'home' AND NOT is_test", ids.count)
      }
    }
  }
}

/// The 16 bytes of an id, big-endian, as messages have it.
private func bytes(of id: UUIDv7) -> [UInt8] {
  [id.high, id.low].flatMap { half in withUnsafeBytes(of: half.bigEndian) { Array($0) } }
}

/// Programs that a person would run.
enum Shell {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Runs a program to its end and returns what it said on its standard output.
  @discardableResult
  static func run(_ program: String, _ arguments: [String], input: String? = nil) throws -> String {
    // By env, so that variables may stand before the program.
    let run = try finished("/usr/bin/env", [program] + arguments, input: input)
    guard run.status == 0 else {
      throw Failure(description: "\(program) \(arguments.joined(separator: " ")): exit \(run.status): \(run.errors)")
    }
    return run.output
  }

  /// How it ended, and what it said. Not by Foundation's `Process`, whose wait never ends where another child was started
  /// in the same moment and lives on.
  static func finished(
    _ program: String, _ arguments: [String], environment: [String: String?] = [:], input: String? = nil
  ) throws -> (status: Int32, output: String, errors: String) {
    let folder = try TemporaryFolder(prefix: "hbsh")
    let (output, errors) = (folder.path + "/output", folder.path + "/errors")
    var command = ChildProcess.Command(
      program, arguments, environment: environment, output: .file(output), errorOutput: .file(errors))
    if let input {
      command.input = .file(folder.path + "/input")
      try input.write(toFile: folder.path + "/input", atomically: false, encoding: .utf8)
    }
    let process = try ChildProcess(command)
    defer { process.terminate(graceMilliseconds: 0) }
    let ended = process.waitForExit(timeoutMilliseconds: 5 * Waiting.seconds * 1_000)
    let said = try [output, errors].map { try String(contentsOfFile: $0, encoding: .utf8) }
    guard case .exited(let status)? = ended else {
      let how = ended.map { "\($0)" } ?? "it did not end"
      throw Failure(description: "\(program) \(arguments.joined(separator: " ")): \(how): \(said)")
    }
    return (status, said[0], said[1])
  }
}
