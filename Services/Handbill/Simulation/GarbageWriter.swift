internal import AdCore
internal import AdEvents
internal import Kafka
internal import Records
internal import Synchronization

/// Writes what no client of ours would: empty, null, random, truncated and oversized records, with and without headers.
final class GarbageWriter: Sendable {
  private let producer: KafkaProducer
  private let topics = [Topic.requests.name, Topic.impressions.name, Topic.clicks.name]
  private let chance: Mutex<SeededChance>
  private static let largestBytes = 40_000

  /// - Throws: `KafkaError` when the topics are not to be seen within 10 s.
  init(_ kafka: KafkaAddress, seed: UInt64, tally: TallyCounter) throws(KafkaError) {
    producer = try KafkaProducer(
      configuration: kafka.configuration(clientID: "handbill-garbage"), failed: { _ in },
      reports: { reports in
        let count = reports.count { $0.error == nil }
        tally.change { $0.garbage += count }
      })
    chance = Mutex(SeededChance(seed: seed ^ 0x6761_7262_6167_65))
    try producer.warmUp(topics: topics, timeoutMilliseconds: 10_000)
  }

  /// Writes one piece. When Kafka takes it not, there is one piece less.
  func write() {
    chance.withLock { chance in
      let topic = topics[Int.random(in: 0..<topics.count, using: &chance)]
      let count = producer.partitionCount(topic: topic) ?? 1
      let partition = Int32.random(in: 0..<count, using: &chance)
      let headers = chance.chance(5_000) ? Self.misleadingHeaders : []
      _ = try? producer.send(
        topic: topic, partition: partition, key: nil, value: value(&chance), headers: headers, reportID: 0,
        timeoutMilliseconds: 1_000)
    }
  }

  func close() { producer.close(timeoutMilliseconds: 5_000) }

  private func value(_ chance: inout SeededChance) -> [UInt8]? {
    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &chance) } }
    switch Int.random(in: 0..<6, using: &chance) {
    case 0: return nil
    case 1: return []
    case 2: return bytes(Int.random(in: 1...300, using: &chance))
    case 3: return Array("{\"requestId\": 12, \"app\": [".utf8)
    // A field of 100 bytes that ends after three.
    case 4: return [0x0A, 100, 1, 2, 3]
    default: return bytes(Self.largestBytes)
    }
  }

  private static let misleadingHeaders = [
    RecordHeader("ce_specversion", "1.0"), RecordHeader("ce_type", "somebody.else.v9"), RecordHeader("ce_id", ""),
    RecordHeader("content-type", "text/plain"),
  ]
}
