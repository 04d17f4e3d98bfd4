import Kafka
import Postgres
import Records
import Runtime
import Threads

/// Sends each record's correlation id and value back, as fast as Kafka goes, and the database where there is one.
final class EchoServer: Sendable {
  private let stopping: StopRequest
  private let thread: OwnerThread

  /// - Parameter database: where a row is changed, and the change committed, before records read together are answered.
  init(_ name: String, configuration: KafkaConfiguration, database: PostgresConfiguration?) throws {
    var sending = configuration
    sending.lingerMilliseconds = 0
    let producer = try KafkaProducer(configuration: sending) { _ in }
    try producer.warmUp(topics: ["\(name).responses"], timeoutMilliseconds: 5_000)
    let stopping = StopRequest()
    self.stopping = stopping
    thread = OwnerThread(name) {
      guard let consumer = try? KafkaConsumer(configuration: configuration, groupID: nil, topics: []) else { return }
      let connection = database.flatMap { try? PostgresConnection($0) }
      if database != nil, connection == nil { return }
      try? consumer.assign(
        (0..<Surroundings.partitions).map {
          KafkaTopicPartitionOffset(topic: "\(name).requests", partition: $0, offset: KafkaTopicPartitionOffset.end)
        })
      while !stopping.isRequested {
        var answers: [(value: [UInt8], headers: [RecordHeader])] = []
        _ = try? consumer.poll(timeoutMilliseconds: 100, recordsMaximum: 1_000) { record in
          var headers: [RecordHeader] = []
          record.forEachHeader { headers.append(RecordHeader(name: Array($0), value: $1.map { Array($0) })) }
          answers.append((record.value.map { Array($0) } ?? [], headers))
        }
        let update = "UPDATE echo SET commits = commits + 1"
        if !answers.isEmpty, let connection, (try? connection.batch { $0.send(prepared: update, []) }) == nil {
          continue
        }
        for answer in answers {
          try? producer.send(
            topic: "\(name).responses", partition: 0, key: nil, value: answer.value, headers: answer.headers,
            reportID: 0)
        }
      }
      consumer.close(timeoutMilliseconds: 1_000)
      producer.close(timeoutMilliseconds: 1_000)
      connection?.close()
    }
  }

  /// With topics of its own: what the broker alone costs or, where it commits, the broker and one commit.
  static func start(_ name: String, _ surroundings: Surroundings, commits: Bool) throws -> EchoServer {
    let admin = try KafkaAdmin(configuration: surroundings.kafkaConfiguration)
    for topic in ["\(name).requests", "\(name).responses"] {
      _ = try admin.ensure(KafkaTopicSpecification(name: topic, partitionCount: Surroundings.partitions))
    }
    admin.close()
    guard commits else { return try EchoServer(name, configuration: surroundings.kafkaConfiguration, database: nil) }
    let database = try PostgresConfiguration(surroundings.databaseURL)
    let connection = try PostgresConnection(database)
    try connection.executeScript(
      "DROP TABLE IF EXISTS echo; CREATE TABLE echo (commits bigint NOT NULL); INSERT INTO echo VALUES (0)")
    connection.close()
    return try EchoServer(name, configuration: surroundings.kafkaConfiguration, database: database)
  }

  func stop() {
    stopping.make()
    thread.join()
  }
}

extension RoundTrip.Party {
  /// Asks an echo.
  static func echo(_ name: String) -> RoundTrip.Party {
    let value = [UInt8](repeating: 1, count: 200)
    return RoundTrip.Party(
      way: .kafka(requestTopic: "\(name).requests", responseTopic: "\(name).responses") { number in
        (Int32(number) % Surroundings.partitions, value, [])
      })
  }
}
