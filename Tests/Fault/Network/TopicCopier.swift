import AdEvents
import Kafka
import Postgres
import Runtime
import Synchronization

/// Writes the records of a topic into it again, as they are.
final class TopicCopier {
  private let network: FaultNetwork
  private let probe: KafkaTopicProbe
  private let consumer: KafkaConsumer
  private let producer: KafkaProducer
  private let delivered = Mutex(0)
  private static let milliseconds: Int64 = 60_000

  init(_ network: FaultNetwork) throws {
    self.network = network
    let configuration = network.kafkaConfiguration("faults-copy")
    probe = try KafkaTopicProbe(configuration: configuration)
    consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: [])
    producer = try KafkaProducer(configuration: configuration) { _ in }
    try producer.warmUp(topics: [Topic.impressions.name, Topic.clicks.name], timeoutMilliseconds: 10_000)
  }

  func close() {
    producer.close(timeoutMilliseconds: 20_000)
    consumer.close(timeoutMilliseconds: 1_000)
    probe.close(timeoutMilliseconds: 1_000)
  }

  /// Where each partition's log ends.
  func ends(_ topic: Topic) throws -> [Int64] {
    try (0..<network.needs.partitions).map {
      try probe.bounds(topic: topic.name, partition: $0, timeoutMilliseconds: 10_000).end
    }
  }

  /// Copies what lies before `ends` and returns how many records that were.
  func copy(_ topic: Topic, before ends: [Int64]) throws -> Int {
    var positions = ends.map { _ in Int64(0) }
    try consumer.assign(
      ends.indices.map {
        KafkaTopicPartitionOffset(
          topic: topic.name, partition: Int32($0), offset: KafkaTopicPartitionOffset.beginning)
      })
    defer { try? consumer.unassign() }
    var count = 0
    let clock = SystemClock()
    let deadline = clock.monotonicMilliseconds + Self.milliseconds
    while zip(positions, ends).contains(where: { $0 < $1 }) {
      guard clock.monotonicMilliseconds < deadline else { throw FaultFailure("\(topic.name) was not read again") }
      var records: [KafkaRecord] = []
      let events = try consumer.poll(timeoutMilliseconds: 100, recordsMaximum: 1_000) { record in
        records.append(record.copy(topic: topic.name))
      }
      for record in records where record.offset < ends[Int(record.partition)] {
        positions[Int(record.partition)] = record.offset + 1
        try producer.send(
          topic: topic.name, partition: record.partition, key: record.key, value: record.value,
          headers: record.headers, reportID: 0)
        count += 1
      }
      for event in events {
        if case .endReached(_, let partition, let offset) = event { positions[Int(partition)] = offset }
      }
    }
    return count
  }

  /// Whether everything before `ends` is decided.
  func isDecided(_ topic: Topic, _ ends: [Int64]) throws -> Bool {
    let connection = try network.connection()
    defer { connection.close() }
    let rows = try connection.query(
      "SELECT partition, next_offset FROM \(schema(topic)).input WHERE topic = $1", [topic.name])
    let positions = Dictionary(
      try rows.map { (try $0.decode(0, Int32.self), try $0.decode(1, Int64.self)) }
    ) { $1 }
    return ends.indices.allSatisfy { ends[$0] == 0 || positions[Int32($0), default: 0] >= ends[$0] }
  }

  /// How many records before `ends` were rejected.
  func rejected(_ topic: Topic, before ends: [Int64]) throws -> Int {
    let connection = try network.connection()
    defer { connection.close() }
    let sql = """
      SELECT count(*) FROM \(schema(topic)).rejected r
      JOIN unnest($2::bigint[]) WITH ORDINALITY AS e (next_offset, place) ON e.place = r.partition + 1
      WHERE r.topic = $1 AND r.record_offset < e.next_offset
      """
    return Int(try connection.query(sql, [topic.name, ends]).first?.decode(0, Int64.self) ?? 0)
  }

  private func schema(_ topic: Topic) -> String {
    topic == .clicks ? "click_tracking" : "impression_tracking"
  }
}
