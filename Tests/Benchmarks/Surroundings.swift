import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Migrations
import Postgres
import TestServers

/// A real Kafka and a real PostgreSQL of this run's own, and our executables beside this one.
struct Surroundings {
  let kafka: LocalKafka
  let postgres: PrivatePostgres
  let databaseURL: String
  /// A second database, for what needs a history that the others must not have.
  let historyURL: String
  let folder: TemporaryFolder
  static let partitions: Int32 = 4
  /// Fixed, because nothing here is worth a secret; services read it from their environment.
  static let keys = "1:" + Data(repeating: 7, count: 32).base64EncodedString()

  static func start() async throws -> Surroundings {
    let folder = try TemporaryFolder()
    // PostgreSQL runs as another user when this is root.
    try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: folder.path)
    // Twice a second the controller would flush a record that says nothing to the disk on which PostgreSQL commits. In a
    // network it has a machine of its own.
    let kafka = try await LocalKafka.started(
      .init(
        folder: folder.path + "/kafka", settings: ["metadata.max.idle.interval.ms": "0"], heapMegabytes: 768))
    let postgres = try await PrivatePostgres.started(
      .init(
        folder: folder.path + "/postgres",
        settings: [
          "shared_buffers": "2GB", "wal_buffers": "64MB", "min_wal_size": "\(usedLogMebibytes)MB",
          "max_wal_size": "8GB", "track_commit_timestamp": "on",
        ]))
    let url = try await migrated("benchmark", of: postgres)
    let connection = try PostgresConnection(PostgresConfiguration(url))
    try useLog(connection)
    connection.close()
    let historyURL = try await migrated("history", of: postgres)
    let admin = try KafkaAdmin(configuration: configuration(kafka))
    for topic in TopicSettings.all {
      _ = try admin.ensure(topic)
    }
    admin.close()
    return Surroundings(kafka: kafka, postgres: postgres, databaseURL: url, historyURL: historyURL, folder: folder)
  }

  /// A further database, for what must not lie beside anything else.
  func database(_ name: String) async throws -> String { try await Self.migrated(name, of: postgres) }

  private static func migrated(_ name: String, of postgres: PrivatePostgres) async throws -> String {
    let url = try await postgres.createDatabase(name)
    let connection = try PostgresConnection(PostgresConfiguration(url))
    defer { connection.close() }
    _ = try MigrationRunner().up(connection)
    return url
  }

  private static let usedLogMebibytes = 1_024
  private static let warmUpsMaximum = 6

  /// A server that has run for a while uses the files of its log again. A new one makes each, 16 MiB of zeros, while all
  /// commits wait.
  private static func useLog(_ connection: PostgresConnection) throws {
    for _ in 0..<usedLogMebibytes / 16 {
      try connection.executeScript("SELECT pg_logical_emit_message(false, '', ''); SELECT pg_switch_wal()")
    }
    try connection.executeScript("CHECKPOINT")
  }

  static func configuration(_ kafka: LocalKafka) -> KafkaConfiguration {
    KafkaConfiguration(bootstrapServers: kafka.bootstrapServers, clientID: "benchmark", environment: .real)
  }

  var kafkaConfiguration: KafkaConfiguration { Self.configuration(kafka) }

  /// Counts from now on what the processes use, and PostgreSQL and Kafka besides.
  func processorTimes(of services: [(name: String, process: ChildProcess)]) -> [(process: String, time: ProcessorTime)]
  {
    services.map { ($0.name, ProcessorTime($0.process.processIdentifier)) } + [
      ("PostgreSQL", ProcessorTime(postgres.processIdentifier ?? 0)),
      ("Kafka", ProcessorTime(kafka.processIdentifier ?? 0)),
    ]
  }

  /// Runs `round`, which says how many records it was of, until one costs Kafka hardly less than the one before. While a
  /// broker is young its compiler takes as much as all else that it does; in a network it runs for months.
  func warmUp(_ what: String, _ round: () throws -> Double) throws {
    var before = Double.infinity
    for number in 1...Self.warmUpsMaximum {
      progress("\(what), warming up, \(number)")
      let time = ProcessorTime(kafka.processIdentifier ?? 0)
      let records = try round()
      let each = time.microseconds / records
      guard each < 0.9 * before else { return }
      before = each
    }
  }

  /// Runs the command `handbill` in these surroundings.
  func command(_ arguments: [String]) throws {
    _ = try ChildProcess.run(.init(Programs.own.path("handbill"), arguments, environment: environment))
  }

  /// Starts one of our services.
  func service(_ name: String, adminPort: Int, settings: [String: String] = [:]) throws -> ChildProcess {
    try localService(name, adminPort: adminPort).start(settings: settings)
  }

  /// Waits until a service that was started says that it is ready.
  func awaitReadiness(_ name: String, adminPort: Int) throws {
    guard let missing = localService(name, adminPort: adminPort).awaitReadiness(milliseconds: 60_000) else { return }
    throw SupervisionError.unavailable(what: name, hint: missing)
  }

  private func localService(_ name: String, adminPort: Int) -> LocalService {
    LocalService(name, adminPort: adminPort, environment: environment, logFile: folder.path + "/\(name).log")
  }

  private var environment: [String: String?] {
    [
      "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrapServers, "HANDBILL_DATABASE_URL": databaseURL,
      "HANDBILL_TOKEN_KEYS": Self.keys,
    ]
  }
}

extension TopicSettings {
  static var all: [TopicSettings] { Topic.networkSettings(networkPartitions: Surroundings.partitions) }
}

extension KafkaAdmin {
  func ensure(_ topic: TopicSettings) throws(KafkaError) {
    _ = try ensure(
      KafkaTopicSpecification(
        name: topic.name, partitionCount: topic.partitions, replicationFactor: 1, settings: topic.configuration))
  }
}
