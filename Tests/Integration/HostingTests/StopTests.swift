import AdEvents
import BrokerFaults
import ImpressionTrackingCore
import Kafka
import LocalProcesses
import Postgres
import Runtime
import TestServices
import TestValues
import Testing

@testable import ImpressionTracking
@testable import PipelineHost

@Suite("The end of a service", .timeLimit(.minutes(5)))
struct StopTests {
  /// How long a stop may take, whatever is away.
  private static let stopMilliseconds = 10_000

  @Test("No partition is taken before what must be so is so; a start that cannot be is ended and takes none")
  func prepared() async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let service = try RunningTracking(databaseURL: url)
      defer { service.stop() }
      let ring = try #require(service.configuration.ring)
      let windows = service.configuration.windows
      let connection = try PostgresConnection(PostgresConfiguration(url))
      defer { connection.close() }
      var members: [Int64] = []
      #expect(throws: ExitCode.configuration) {
        try ServiceHost.start(
          service: ImpressionTracking(ring: ring, windows: windows), tables: ImpressionTables(windows: windows),
          settings: service.configuration.pipeline, context: service.context
        ) {
          // Until all that is connected to meanwhile is: the session of the leases, the worker's two.
          let isConnected = try Waiting.until {
            try connection.query(
              """
              SELECT FROM pg_stat_activity
              WHERE datname = current_database() AND application_name LIKE 'handbill-impression-tracking%'
              """
            ).count == 3
          }
          #expect(isConnected)
          members = try connection.query("SELECT count(*) FROM impression_tracking.member").map { try $0.decode(0) }
          throw ExitCode.configuration
        }
      }
      #expect(members == [0], "others would give it partitions that it does not work on yet")
      #expect(try connection.query("SELECT FROM impression_tracking.member").isEmpty)
    }
  }

  @Test("M6: a service that stops has counted everything: nothing is left for its successor")
  func lastCounts() async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let service = try RunningTracking(databaseURL: url)
      defer { service.broker.stop() }
      #expect(try service.start())
      // Whatever it is, a batch takes it.
      let producer = try KafkaProducer(
        configuration: KafkaConfiguration(
          bootstrapServers: service.broker.bootstrapServers, clientID: "test", environment: .embedded)
      ) { _ in }
      try producer.warmUp(topics: [Topic.impressions.name], timeoutMilliseconds: 10_000)
      try producer.send(
        topic: Topic.impressions.name, partition: 1, key: nil, value: [1], headers: [], reportID: 0)
      try #require(producer.close(timeoutMilliseconds: 20_000))
      let connection = try PostgresConnection(PostgresConfiguration(url))
      defer { connection.close() }
      let isDecided = try Waiting.until {
        try !connection.query("SELECT FROM impression_tracking.partition WHERE batch_number > 0").isEmpty
      }
      #expect(isDecided)
      #expect(service.lifeCycle.stopAll(timeoutMilliseconds: Self.stopMilliseconds))
      let left = try connection.query(
        """
        SELECT FROM impression_tracking.partition p LEFT JOIN impression_tracking.counted c USING (partition)
        WHERE c.batch_number IS DISTINCT FROM p.batch_number
        """)
      #expect(left.isEmpty)
    }
  }

  @Test("A service stops in time, also while the broker is away", arguments: [true, false])
  func brokerIsAway(isAway: Bool) async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let service = try RunningTracking(databaseURL: url)
      defer { service.broker.stop() }
      #expect(try service.start())
      if isAway {
        service.broker.setBroker(1, isUp: false)
        // Until watermarks wait for the broker and the ends of the inputs are asked for in vain.
        let connection = try PostgresConnection(PostgresConfiguration(url))
        defer { connection.close() }
        #expect(try RunningTracking.awaitBeats(connection))
      }
      #expect(service.lifeCycle.stopAll(timeoutMilliseconds: Self.stopMilliseconds))
    }
  }
}
