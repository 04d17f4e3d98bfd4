import AdEvents
import Foundation
import Kafka
import Postgres
import TestServices
import TestValues
import Testing
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

  /// - Parameter broker: another one's; without it it has its own, with the topics made.
  init(
    databaseURL: String, environment: [String: String] = [:], partitions: Int32 = 2, broker other: EmbeddedBroker? = nil
  ) throws {
    if let other { broker = other } else { broker = try EmbeddedBroker() }
    for topic in Topic.networkSettings(networkPartitions: partitions) where other == nil {
      try broker.createTopic(topic.name, partitions: topic.partitions)
    }
    let settings = [
      "HANDBILL_DATABASE_URL": databaseURL + "&user=handbill-impression-tracking",
      "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrapServers,
      "HANDBILL_KAFKA_EMBEDDED": "true",
      "HANDBILL_TOKEN_KEYS": "1:\(Data(repeating: 5, count: 32).base64EncodedString())",
    ]
    configuration = try ConfigurationReader.read(environment: settings.merging(environment) { $1 }) {
      ImpressionTrackingMain.configuration(&$0)
    }
    lifeCycle = LifeCycle(logger: .unread)
  }

  /// Starts it and waits until it works; false when it does not.
  @discardableResult
  func start() throws -> Bool {
    try ImpressionTrackingMain.start(configuration, context)
    return Waiting.until { health.isReady }
  }

  /// Waits until every member has looked at the others `count` times more: time in which each could have acted.
  ///
  /// - Returns: false when they did not.
  static func awaitBeats(_ connection: PostgresConnection, count: Int64 = 6) throws -> Bool {
    let least = "SELECT coalesce(min(beat), 0) FROM impression_tracking.member"
    let wanted = try #require(try connection.query(least).first).decode(0, Int64.self) + count
    return try Waiting.until { try #require(try connection.query(least).first).decode(0, Int64.self) >= wanted }
  }

  var context: ServiceContext {
    ServiceContext(
      logger: .unread, metrics: MetricsRegistry(ImpressionTrackingMain.metrics), health: health, lifeCycle: lifeCycle,
      clock: SystemClock())
  }

  func stop() {
    _ = lifeCycle.stopAll(timeoutMilliseconds: 20_000)
    broker.stop()
  }
}
