internal import Kafka
internal import Operations
internal import Pipeline
internal import Records
internal import Synchronization

/// Sends rejected records again, to the topic and partition where they were rejected, with their key and headers and
/// one more that says what they repeat.
///
/// Twice does no harm: the serve token decides to which ad an event belongs, a served ad counts one impression and each
/// click once by its id (M4), and what is rejected again has no effect.
final class RejectedReplay: Sendable {
  private let producer: KafkaProducer
  private let delivered: DeliveryCounter

  /// How many records Kafka took, by its reports.
  private final class DeliveryCounter: Sendable {
    private let count = Mutex(0)
    func add(_ number: Int) { count.withLock { $0 += number } }
    var value: Int { count.withLock { $0 } }
  }

  /// Sends `records`, and waits for the broker at most 30 s.
  ///
  /// - Returns: how many of them Kafka took.
  static func send(_ records: [KeptRecord], to kafka: KafkaAddress) throws(KafkaError) -> Int {
    guard !records.isEmpty else { return 0 }
    let replay = try RejectedReplay(kafka, topics: Set(records.map(\.reference.topic)))
    for record in records { try replay.send(record) }
    return replay.finish()
  }

  /// - Throws: `KafkaError` when the topics are not to be seen within 10 s.
  private init(_ kafka: KafkaAddress, topics: Set<String>) throws(KafkaError) {
    let delivered = DeliveryCounter()
    self.delivered = delivered
    producer = try KafkaProducer(
      configuration: kafka.configuration(clientID: "handbill-replay"), topics: topics.sorted(),
      timeoutMilliseconds: 10_000,
      reports: { reports in delivered.add(reports.count { $0.error == nil }) })
  }

  /// Queues one record.
  ///
  /// - Throws: `KafkaError` when its topic has no such partition, or Kafka takes nothing.
  private func send(_ record: KeptRecord) throws(KafkaError) {
    let headers = (record.headers ?? []) + [RecordHeader(KeptRecord.replayHeader, "\(record.reference)")]
    try producer.send(
      topic: record.reference.topic, partition: record.reference.partition, key: record.key,
      value: record.valueLength < 0 ? nil : record.value ?? [], headers: headers, reportID: 0)
  }

  /// Waits until everything is reported, at most 30 s; how many records Kafka took.
  private func finish() -> Int {
    producer.close(timeoutMilliseconds: 30_000)
    return delivered.value
  }
}
