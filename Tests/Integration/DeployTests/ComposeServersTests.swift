import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Runtime
import TestServers
import Testing

/// The broker of compose.yaml as far as it can be without containers: a real one with its settings, and the files that
/// `deploy/secrets` makes.
@Suite(
  "Servers in containers", .enabled(if: KafkaInstallation.isAvailable, "no Kafka in KAFKA_HOME"),
  .enabled(if: ComposeService.areProgramsBuilt, "the programs are not built for debugging"))
struct ComposeServersTests {
  /// Where the broker listens here.
  private struct Ports {
    let inside: Int
    let outside: Int
    let controller: Int

    init() throws {
      let free = try FreePort.find(count: 3)
      (inside, outside, controller) = (free[0], free[1], free[2])
    }

    func here(_ text: String) -> String {
      [
        ("INSIDE://:", "INSIDE://127.0.0.1:"), ("OUTSIDE://:", "OUTSIDE://127.0.0.1:"),
        ("kafka:19092", "127.0.0.1:19092"),
        ("localhost:", "127.0.0.1:"), ("19092", "\(inside)"), (":9092", ":\(outside)"), (":9093", ":\(controller)"),
      ].reduce(text) { $0.replacing($1.0, with: $1.1) }
    }
  }

  /// A setting of the environment as the program in the container gets it, with the paths of this machine.
  private static func value(_ text: String, _ secrets: String) -> String {
    text.trimmingCharacters(in: CharacterSet(charactersIn: "\"")).replacing("$$", with: "$")
      .replacing("/run/secrets", with: secrets)
  }

  /// What Kafka's image makes of its environment; what a later file says counts.
  private static func brokerSettings(_ files: [String], _ secrets: String, _ ports: Ports) throws -> [String: String] {
    var settings: [String: String] = [:]
    for file in files {
      let kafka = try #require(ComposeService.all(of: file).first { $0.name == "kafka" })
      for line in kafka.lines {
        guard let match = line.firstMatch(of: /^KAFKA_([A-Z0-9_]+): (.+)$/) else { continue }
        let name = match.output.1.lowercased().replacing("___", with: "-").replacing("_", with: ".")
        if name != "heap.opts", name != "log.dirs" {
          settings[name] = ports.here(value(String(match.output.2), secrets))
        }
      }
    }
    return settings
  }

  /// A broker with the settings of these files, on which the jobs of compose.yaml have run.
  private struct Broker {
    let secrets: String
    let ports: Ports
    let kafka: LocalKafka
    private let folders: [TemporaryFolder]

    /// - Parameter apps: that have rights of their own, and topics.
    init(_ files: [String], apps: [String] = []) throws {
      folders = [try TemporaryFolder(prefix: "hbk"), try TemporaryFolder()]
      secrets = folders[1].path("secrets")
      try ChildProcess.run(.init(PackageRoot.path("deploy/secrets"), [secrets]))
      ports = try Ports()
      kafka = try LocalKafka(
        .init(
          folder: folders[0].path, port: ports.inside,
          settings: try ComposeServersTests.brokerSettings(files, secrets, ports), heapMegabytes: 384,
          isShortLived: true, controllerPort: ports.controller))
      try kafka.startAndWait()
      let options = apps.flatMap { ["--app", $0] }
      for (service, arguments) in [("acls", ["topics", "acls", "--apply"]), ("topics", ["topics", "create"])] {
        try ChildProcess.run(
          .init(
            ComposeService.binaries + "/handbill", arguments + options,
            environment: [
              "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrapServers,
              "HANDBILL_KAFKA_PROPERTIES": try ComposeServersTests.properties(service, secrets),
            ], output: .discarded))
      }
    }
  }

  private static func properties(_ service: String, _ secrets: String) throws -> String {
    let own = try #require(ComposeService.all().first { $0.name == service })
    return value(try #require(own.value("HANDBILL_KAFKA_PROPERTIES")), secrets)
  }

  private static func admin(_ properties: String?, port: Int) throws -> KafkaAdmin {
    var configuration = KafkaConfiguration(
      bootstrapServers: "127.0.0.1:\(port)", clientID: "test", environment: .real)
    if let properties { configuration.properties = try KafkaProperties(properties).values }
    return try KafkaAdmin(configuration: configuration)
  }

  /// Whether somebody sees a topic of the inner listener.
  private static func sees(_ topic: String, _ properties: String?, _ ports: Ports) throws -> Bool {
    try sees(topic, properties, port: ports.inside, isLetIn: properties != nil)
  }

  /// - Parameter isLetIn: whether one may expect so. librdkafka tries again for as long as one waits, whatever it is told.
  private static func sees(_ topic: String, _ properties: String?, port: Int, isLetIn: Bool) throws -> Bool {
    let admin = try admin(properties, port: port)
    defer { admin.close(timeoutMilliseconds: 0) }
    do throws(KafkaError) {
      return try admin.partitionCount(topic: topic, timeoutMilliseconds: isLetIn ? 20_000 : 2_000) > 0
    } catch { return false }
  }

  @Test("Kafka lets each program in by its certificate, to what the topics' table says, and nobody without one")
  func broker() async throws {
    try await onOwnThread {
      let broker = try Broker(["deploy/compose.yaml"])
      defer { broker.kafka.killAndWait() }
      let (secrets, ports) = (broker.secrets, broker.ports)
      let own = [
        "ad-selection": "ads.requests", "impression-tracking": "ads.impressions", "click-tracking": "ads.clicks",
        "billing": "ads.usage", "console": "ads.catalog", "handbill": "ads.catalog", "devices": "ads.requests",
      ]
      for (service, topic) in own {
        #expect(try Self.sees(topic, Self.properties(service, secrets), ports), "\(service)")
      }
      #expect(try !Self.sees("ads.usage", Self.properties("devices", secrets), ports))
      #expect(try !Self.sees("ads.clicks", Self.properties("console", secrets), ports))
      #expect(try !Self.sees("ads.requests", nil, ports))
    }
  }

  @Test(
    "compose.passwords.yaml: SCRAM lets users in from outside, to what the topics' table says",
    .enabled(if: ConformancePython.path != nil, "pip cannot make the environment of the conformance tests"))
  func passwords() async throws {
    let python = try #require(ConformancePython.path)
    let broker = try await onOwnThread {
      try Broker(["deploy/compose.yaml", "deploy/compose.passwords.yaml"], apps: ["chess", "weather"])
    }
    defer { broker.kafka.killAndWait() }
    let (password, other) = ("an app's own password", "another")
    try await makeUser("handbill-app-chess", password, on: broker)
    try await makeUser("stranger", password, on: broker)
    try await onOwnThread {
      let topics =
        Topic.allCases.filter { $0 != .responses }.map(\.name) + ["ads.responses.chess", "ads.responses.weather"]
      let app = try #require(try Self.access(python, broker, "handbill-app-chess", password, topics))
      for topic in topics {
        let isWritten = ["ads.requests", "ads.impressions", "ads.clicks"].contains(topic)
        #expect(app[topic] == [isWritten, topic == "ads.responses.chess"], "\(topic)")
      }
      let stranger = try Self.access(python, broker, "stranger", password, ["ads.requests", "ads.responses.chess"])
      #expect(stranger == ["ads.requests": [false, false], "ads.responses.chess": [false, false]])
      for (user, password) in [("handbill-app-chess", other), ("handbill-billing", password)] {
        #expect(try Self.access(python, broker, user, password, ["ads.requests"]) == nil, "\(user)")
      }
      #expect(try Self.sees("ads.usage", Self.properties("billing", broker.secrets), broker.ports))
      try Self.checkLibrary(password, broker)
    }
  }

  /// Our own client, whose librdkafka may be one that Kafka refuses: then the doctor says so.
  private static func checkLibrary(_ password: String, _ broker: Broker) throws {
    let own =
      "security.protocol=SASL_SSL,sasl.mechanism=SCRAM-SHA-512,sasl.username=handbill-app-chess,"
      + "sasl.password=\(password),ssl.ca.location=\(broker.secrets)/ca"
    let isLetIn = KafkaLibrary.hasSoundSCRAM
    #expect(try sees("ads.requests", own, port: broker.ports.outside, isLetIn: isLetIn) == isLetIn)
    let folder = try TemporaryFolder()
    let doctor = try ChildProcess(
      .init(
        ComposeService.binaries + "/handbill", ["doctor", "-p", "1"],
        environment: [
          "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:\(broker.ports.outside)", "HANDBILL_KAFKA_PROPERTIES": own,
          // No database either, which it says as well.
          "HANDBILL_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
        ], output: .file(folder.path("output"))))
    #expect(doctor.waitForExit(timeoutMilliseconds: 120_000) == .exited(1))
    let said = try String(contentsOfFile: folder.path("output"), encoding: .utf8)
    #expect(said.contains("repeats its nonce") == !isLetIn, "\(said)")
  }

  /// As docs/operations.md, "By passwords", has it.
  private func makeUser(_ name: String, _ password: String, on broker: Broker) async throws {
    let admin = broker.secrets + "/admin.properties"
    try """
    security.protocol=SSL
    ssl.truststore.type=PEM
    ssl.truststore.location=\(broker.secrets)/ca
    ssl.keystore.type=PEM
    ssl.keystore.location=\(broker.secrets)/kafka_admin
    """.write(toFile: admin, atomically: true, encoding: .utf8)
    let user = broker.secrets + "/user.properties"
    let content = Data("SCRAM-SHA-512=password=\(password)\n".utf8)
    try #require(
      FileManager.default.createFile(atPath: user, contents: content, attributes: [.posixPermissions: 0o600]))
    defer { try? FileManager.default.removeItem(atPath: user) }
    try await broker.kafka.run(
      "kafka-configs.sh",
      [
        "--command-config", admin, "--alter", "--entity-type", "users", "--entity-name", name, "--add-config-file",
        user,
      ])
  }

  /// Whether a user could write and read each of these topics; nil where it was not let in.
  private static func access(
    _ python: String, _ broker: Broker, _ user: String, _ password: String, _ topics: [String]
  ) throws -> [String: [Bool]]? {
    let folder = try TemporaryFolder()
    let process = try ChildProcess(
      .init(
        python,
        [
          PackageRoot.path("Tests/Conformance/broker_access.py"), "127.0.0.1:\(broker.ports.outside)",
          broker.secrets + "/ca", user, password,
        ] + topics, output: .file(folder.path("output"))))
    let status = process.waitForExit(timeoutMilliseconds: 240_000)
    if status == .exited(3) { return nil }
    try #require(status == .exited(0), "\(process.lastLines)")
    let said = try Data(contentsOf: URL(fileURLWithPath: folder.path("output")))
    return try JSONDecoder().decode([String: [Bool]].self, from: said)
  }

  @Test("PostgreSQL's image lets nobody in over the network without TLS")
  func rules() async throws {
    try await onOwnThread {
      let folder = try TemporaryFolder()
      let file = folder.path("pg_hba.conf")
      try "local all all trust\nhost all all all scram-sha-256\n".write(toFile: file, atomically: true, encoding: .utf8)
      try ChildProcess.run(
        .init("sh", [PackageRoot.path("deploy/postgres/20-tls-alone.sh")], environment: ["PGDATA": folder.path]))
      #expect(
        try String(contentsOfFile: file, encoding: .utf8) == "local all all trust\nhostssl all all all scram-sha-256\n")
    }
  }
}
