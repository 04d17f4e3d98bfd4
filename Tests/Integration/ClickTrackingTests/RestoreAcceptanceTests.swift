import AdCore
import AdEvents
import ClickTrackingCore
import Kafka
import LocalProcesses
import PipelineHost
import Postgres
import Runtime
import TestServices
import TestValues
import Testing

@testable import ClickTracking
@testable import Handbill
@testable import Pipeline

@Suite("Accepting that commits were lost", .timeLimit(.minutes(5)))
struct RestoreAcceptanceTests {
  /// Topics of one partition, in which somebody has told of a click that the database does not know.
  private func broker() throws -> EmbeddedBroker {
    let broker = try EmbeddedBroker()
    for topic in Topic.networkSettings(networkPartitions: 1) {
      try broker.createTopic(topic.name, partitions: topic.partitions)
    }
    let producer = try KafkaProducer(
      configuration: KafkaConfiguration(
        bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded)
    ) { _ in }
    // The last one was on its way for long.
    for sequence in [5, 4] as [Int64] {
      let told = OutgoingMessage(topic: Topic.acceptedClicks.name, partition: 0, key: nil, value: [1], headers: [])
        .marked(TimelineMark(timeline: .sample(7), sequence: sequence, batch: 1))
        .authenticated(by: try MessageMAC(ring: .sample), now: .sample)
      try producer.send(
        topic: told.topic, partition: 0, key: nil, value: told.value, headers: told.headers, reportID: 0)
    }
    #expect(producer.close(timeoutMilliseconds: 10_000))
    return broker
  }

  @Test("A trial says what would be done and changes nothing; then it is done, and once")
  func trial() async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let broker = try broker()
      defer { broker.stop() }
      let connection = try PostgresConnection(PostgresConfiguration(url))
      defer { connection.close() }
      let kafka = KafkaAddress(bootstrapServers: broker.bootstrapServers, isEmbedded: true)
      let next = "SELECT coalesce(max(next_sequence), 0) FROM click_tracking.output"
      for (isTrial, timeline, text, timelines, sequence) in [
        (true, 3, "timeline 3 would be begun", 1, 0), (false, 3, "timeline 3 is begun", 3, 7),
        (false, nil, "nothing that the database lacks", 3, 7),
      ] as [(Bool, Int64?, String, Int64, Int64)] {
        let acceptance = RestoreAcceptance(kafka: kafka, databaseURL: url, ring: .sample, isTrial: isTrial)
        let result = try acceptance.accept()
        #expect(result.text.contains(text), "\(result.text)")
        #expect(result.timeline == timeline)
        let count: Int64? = try connection.query("SELECT count(*) FROM timeline.timeline").first?.decode(0)
        #expect(count == timelines)
        let given: Int64? = try connection.query(next).first?.decode(0)
        #expect(given == sequence)
      }
    }
  }

  @Test("I3: what a record tells of a commit that its writer's rows do not know stops the partition, whenever it comes")
  func sentLater() async throws {
    let partition = try await ClickPartition(now: .sample)
    let topic = Topic.acceptedImpressions.name
    try partition.connection.executeScript(
      """
      INSERT INTO impression_tracking.partition (partition, output_topics, next_sequences, confirmed_sequences, batch_number)
      VALUES (\(ClickPartition.number), '{\(topic)}', '{5}', '{0}', 3);
      """)
    let current: String = try partition.connection.query("SELECT id::text FROM timeline.timeline")[0].decode(0)
    let timeline = try #require(TimelineID(current))
    func take(sequence: Int64, batch: Int64) throws {
      let message = OutgoingMessage(topic: topic, partition: ClickPartition.number, key: nil, value: [1], headers: [])
      try partition.take([message.marked(TimelineMark(timeline: timeline, sequence: sequence, batch: batch))])
    }
    try take(sequence: 4, batch: 3)
    for (sequence, batch) in [(5, 3), (4, 4)] as [(Int64, Int64)] {
      let error = #expect(throws: PipelineError.self) { try take(sequence: sequence, batch: batch) }
      #expect(error?.kind == .commitsLost)
    }
    #expect(try partition.count("SELECT count(*) FROM click_tracking.rejected") == 1)
    #expect(try partition.count("SELECT count(*) FROM timeline.finding") == 1)
  }

  @Test("A partition that is made while a timeline is begun is one of the new timeline")
  func madeMeanwhile() async throws {
    let configuration = try await TestDatabase.configuration()
    let (maker, eyes) = (try PostgresConnection(configuration), try PostgresConnection(configuration))
    let latest = "(SELECT id FROM timeline.timeline ORDER BY number DESC LIMIT 1)"
    try maker.begin()
    _ = try maker.query("INSERT INTO click_tracking.partition (partition, timeline) SELECT 9, \(latest)")
    async let begun = onOwnThread {
      let begin = "SELECT timeline.begin('{}', '{}', '{}', '{}', '{}', 'a test')::bigint"
      return try PostgresConnection(configuration).query(begin)[0].decode(0, Int64.self)
    }
    let waits = """
      SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
        OR EXISTS (SELECT FROM timeline.timeline WHERE number = 2)
      """
    #expect(try Waiting.until { try eyes.query(waits).first?.decode(0, Int64.self) ?? 0 > 0 })
    try maker.commit()
    #expect(try await begun == 2)
    let old = "SELECT count(*) FROM click_tracking.partition WHERE timeline IS DISTINCT FROM \(latest)"
    #expect(try eyes.query(old)[0].decode(0, Int64.self) == 0)
  }

  @Test("Whoever takes a partition over learns where each timeline ended in each of its inputs")
  func ends() async throws {
    let plan = StoredPartition.Plan(
      number: 0, service: ClickTrackingCore.ClickTracking(ring: .sample), tables: ClickTables(windows: Windows()),
      database: try await TestDatabase.configuration(), clock: MovingClock(.sample))
    let connection = try PostgresConnection(plan.database)
    defer { connection.close() }
    let topic = Topic.acceptedImpressions.name
    try connection.executeScript(
      """
      INSERT INTO timeline.timeline (number, reason) VALUES (2, 'a test'), (3, 'a test');
      INSERT INTO timeline.lost_sequence (topic, partition, first_sequence, next_sequence, timeline)
      VALUES ('\(topic)', 0, 11, 20, 2), ('\(topic)', 0, 30, 32, 3), ('\(topic)', 1, 5, 7, 3);
      """)
    let store = StoredPartition<ClickTables>.makeStore(plan)
    defer { store.close() }
    for (partition, ends) in [(0, [11, 30]), (1, [5, 5]), (2, [])] as [(Int32, [Int64])] {
      let history = try store.acquire(partition, by: PartitionClaim(owner: 1, seenEpoch: 0)).history
      #expect(history.timelines.count == 3)
      #expect(history.ends == [[:], Dictionary(uniqueKeysWithValues: zip(history.timelines, ends))])
    }
  }
}
