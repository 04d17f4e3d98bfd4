import AdEvents
import Foundation
import Kafka
import Migrations
import Postgres
import TestServers
import Threads
@testable import ImpressionTracking
@testable import PipelineHost
@testable import Runtime

/// Impression tracking as its executable runs it, in this process.
final class RunningTracking {
  let broker: EmbeddedBroker
  let lifeCycle: LifeCycle
  var configuration: ImpressionTrackingMain.Configuration
  private let health = Health()
  private let logger = Logger(name: "test", service: "test", format: .json, sink: NoSink())

  /// - Parameter broker: another one's; without it it has its own, with the topics made.
  init(
    databaseURL: String, environment: [String: String] = [:], partitions: Int32 = 2, broker other: EmbeddedBroker? = nil
  ) throws {
    if let other { broker = other } else { broker = try EmbeddedBroker() }
    for topic in Topic.networkSettings(networkPartitions: partitions) where other == nil {
      try broker.createTopic(topic.name, partitions: topic.partitions)
    }
    let settings = [
      "HANDBILL_DATABASE_URL": databaseURL, "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrapServers,
      "HANDBILL_KAFKA_EMBEDDED": "true",
      "HANDBILL_TOKEN_KEYS": "1:\(Data(repeating: 5, count: 32).base64EncodedString())",
    ]
    configuration = try ConfigurationReader.read(environment: settings.merging(environment) { $1 }) {
      ImpressionTrackingMain.configuration(&$0)
    }
    lifeCycle = LifeCycle(logger: logger)
  }

  /// A database with our tables.
  static func database() async throws -> String {
    try await SharedPostgres.database(copyOf: "migrated") { url in
      let connection = try PostgresConnection(try PostgresConfiguration(url, applicationName: "test"))
      defer { connection.close() }
      _ = try MigrationRunner().up(connection)
    }
  }

  /// Starts it and waits until it works; false when it does not.
  @discardableResult
  func start() throws -> Bool {
    try ImpressionTrackingMain.start(
      configuration,
      ServiceContext(
        logger: logger, metrics: MetricsRegistry(ImpressionTrackingMain.metrics), health: health,
        lifeCycle: lifeCycle, clock: SystemClock()))
    return try Self.wait {
      let conditions = health.readiness()
      return !conditions.isEmpty && conditions.allSatisfy { $0.problem == nil }
    }
  }

  func stop() {
    _ = lifeCycle.stopAll(timeoutMilliseconds: 20_000)
    broker.stop()
  }

  /// Waits until it is so; false when a minute was not enough.
  static func wait(until isTrue: () throws -> Bool) throws -> Bool {
    let deadline = Date(timeIntervalSinceNow: 60)
    while Date() < deadline {
      if try isTrue() { return true }
      pause(milliseconds: 100)
    }
    return false
  }

  static func pause(milliseconds: Int) { StopRequest().wait(milliseconds: milliseconds) }
}
