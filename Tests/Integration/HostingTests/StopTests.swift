import AdEvents
import Foundation
import Kafka
import Migrations
import Postgres
import Supervision
import Testing

@testable import ImpressionTracking
@testable import Runtime

@Suite("The end of a service", .timeLimit(.minutes(5)))
struct StopTests {
  /// How long a stop may take, whatever is away.
  private static let stopMilliseconds = 10_000

  @Test("A service stops in time while the broker is away", arguments: [true, false])
  func brokerIsAway(isAway: Bool) async throws {
    let url = try await SharedPostgres.database(copyOf: "migrated") { url in
      let connection = try PostgresConnection(try PostgresConfiguration(url, applicationName: "test"))
      defer { connection.close() }
      _ = try MigrationRunner().up(connection)
    }
    try await onOwnThread {
      let broker = try EmbeddedBroker()
      defer { broker.stop() }
      for topic in Topic.networkSettings(networkPartitions: 2) {
        try broker.createTopic(topic.name, partitions: topic.partitions)
      }
      let configuration = try ConfigurationReader.read(environment: [
        "HANDBILL_DATABASE_URL": url, "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrapServers,
        "HANDBILL_KAFKA_EMBEDDED": "true",
        "HANDBILL_TOKEN_KEYS": "1:\(Data(repeating: 5, count: 32).base64EncodedString())",
      ]) { ImpressionTrackingMain.configuration(&$0) }
      let logger = Logger(name: "test", service: "test", format: .json, sink: NoSink())
      let lifeCycle = LifeCycle(logger: logger)
      let health = Health()
      try ImpressionTrackingMain.start(
        configuration,
        ServiceContext(
          logger: logger, metrics: MetricsRegistry(ImpressionTrackingMain.metrics), health: health,
          lifeCycle: lifeCycle, clock: SystemClock()))
      let deadline = Date(timeIntervalSinceNow: 60)
      while !Self.isReady(health), Date() < deadline { Self.pause(seconds: 0.1) }
      #expect(Self.isReady(health))
      if isAway {
        broker.setBroker(1, isUp: false)
        // Until watermarks wait for the broker and the ends of the inputs are asked for in vain.
        Self.pause(seconds: 3)
      }
      #expect(lifeCycle.stopAll(timeoutMilliseconds: Self.stopMilliseconds))
    }
  }

  private static func pause(seconds: Double) { _ = Mailbox<Void>().takeAll(until: Date(timeIntervalSinceNow: seconds)) }

  private static func isReady(_ health: Health) -> Bool {
    let conditions = health.readiness()
    return !conditions.isEmpty && conditions.allSatisfy { $0.problem == nil }
  }
}
