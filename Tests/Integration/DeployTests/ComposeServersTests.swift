import Foundation
import Kafka
import LocalProcesses
import Runtime
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

  /// What Kafka's image makes of its environment.
  private static func brokerSettings(_ secrets: String, _ ports: Ports) throws -> [String: String] {
    let kafka = try #require(ComposeService.all().first { $0.name == "kafka" })
    var settings: [String: String] = [:]
    for line in kafka.lines {
      guard let match = line.firstMatch(of: /^KAFKA_([A-Z_]+): (.+)$/) else { continue }
      let name = match.output.1.lowercased().replacing("_", with: ".")
      if name != "heap.opts", name != "log.dirs" {
        settings[name] = ports.here(value(String(match.output.2), secrets))
      }
    }
    return settings
  }

  private static func properties(_ service: String, _ secrets: String) throws -> String {
    let own = try #require(ComposeService.all().first { $0.name == service })
    return value(try #require(own.value("HANDBILL_KAFKA_PROPERTIES")), secrets)
  }

  private static func admin(_ properties: String?, _ ports: Ports) throws -> KafkaAdmin {
    var configuration = KafkaConfiguration(
      bootstrapServers: "127.0.0.1:\(ports.inside)", clientID: "test", environment: .real)
    if let properties { configuration.properties = try KafkaProperties(properties).values }
    return try KafkaAdmin(configuration: configuration)
  }

  /// Whether somebody sees a topic.
  private static func sees(_ topic: String, _ properties: String?, _ ports: Ports) throws -> Bool {
    let admin = try admin(properties, ports)
    defer { admin.close(timeoutMilliseconds: 0) }
    do throws(KafkaError) {
      return try admin.partitionCount(topic: topic, timeoutMilliseconds: properties == nil ? 2_000 : 20_000) > 0
    } catch { return false }
  }

  @Test("Kafka lets each program in by its certificate, to what the topics' table says, and nobody without one")
  func broker() async throws {
    try await onOwnThread {
      let (folder, secretsFolder) = (try TemporaryFolder(prefix: "hbk"), try TemporaryFolder())
      let secrets = secretsFolder.path("secrets")
      try ChildProcess.run(.init(PackageRoot.path("deploy/secrets"), [secrets]))
      let ports = try Ports()
      let kafka = try LocalKafka(
        .init(
          folder: folder.path, port: ports.inside, settings: try Self.brokerSettings(secrets, ports),
          heapMegabytes: 384, isShortLived: true, controllerPort: ports.controller))
      try kafka.startAndWait()
      defer { kafka.killAndWait() }
      for (service, arguments) in [("acls", ["topics", "acls", "--apply"]), ("topics", ["topics", "create"])] {
        try ChildProcess.run(
          .init(
            ComposeService.binaries + "/handbill", arguments,
            environment: [
              "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrapServers,
              "HANDBILL_KAFKA_PROPERTIES": try Self.properties(service, secrets),
            ], output: .discarded))
      }
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
