import AdCore
import AdEvents
import Kafka
import Runtime
import Synchronization
import TestValues

/// Strangers write a few kilobytes that are many megabytes unpacked into every topic that a service reads, and batches of as
/// many empty records as one may have into those that clients write. The broker takes none of the former, memory keeps its
/// bound with the latter, and the good devices' tally does not differ by one.
struct DecompressionBombs: Fault {
  let name = "decompression-bombs"
  let summary = "strangers write what is a thousand times as large unpacked: BOMBS (24) of them, and empty records"
  let invariants = ["I1", "I3", "I6", "I7"]
  /// How many are written.
  let count: Int
  private static let codecs = ["gzip", "lz4", "zstd"]
  private static let topics = Topic.allCases.filter { !$0.readers.isEmpty && $0 != .responses }
  /// Of one value, and of many records that are empty but for a few bytes.
  private static let unpackedBytes = 32 << 20
  private static let recordBytes = 16
  /// What a batch of a million bytes has of empty records, about, and how many are written into each topic.
  private static let emptyRecords = 100_000
  private static let decidedMilliseconds: Int64 = 120_000
  /// The most that a service may ever have resident.
  private static let residentBytesMaximum = 256 << 20

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    network.expectStrangers()
    let memory = MemoryWatch(network)
    let taken = try (0..<count).count { number in
      try isTaken(
        bomb: number, by: network, partition: Int32(chance.number(0...Int(network.needs.partitions) - 1)))
    }
    try writeEmptyRecords(to: network)
    let milliseconds = try RecoveryWatch(network: network).measure(timeoutMilliseconds: Self.decidedMilliseconds)
    let memories = memory.stop()
    network.note(
      "\(count) bombs of \(Self.unpackedBytes >> 20) MiB; \(taken) were taken; the rest took \(milliseconds) ms")
    for memory in memories { network.note(memory.text) }
    guard taken == 0 else { throw FaultFailure("the broker took \(taken) of \(count) bombs") }
    for memory in memories {
      guard memory.resident.allSatisfy({ $0 <= Self.residentBytesMaximum }) else {
        throw FaultFailure("more is resident than may be. \(memory.text)")
      }
    }
  }

  /// Whether the broker takes a batch that is small packed: one value, or many records that are hardly any larger than
  /// nothing.
  private func isTaken(bomb number: Int, by network: FaultNetwork, partition: Int32) throws -> Bool {
    let isTaken = Mutex(false)
    var configuration = network.kafkaConfiguration("bombs")
    configuration.lingerMilliseconds = 10_000
    configuration.recordsInFlightMaximum = 10_000_000
    configuration.bytesInFlightMaximum = 1 << 30
    configuration.properties.merge([
      "compression.type": Self.codecs[number % Self.codecs.count], "message.max.bytes": "1000000000",
      "batch.size": "1000000000", "batch.num.messages": "1000000", "enable.idempotence": "false",
    ]) { $1 }
    let producer = try KafkaProducer(
      configuration: configuration, isExpendable: { _ in true },
      reports: { reports in
        if reports.contains(where: { $0.error == nil }) { isTaken.withLock { $0 = true } }
      })
    // Each codec, topic after topic.
    let topic = Self.topics[number / Self.codecs.count % Self.topics.count]
    let partition = topic.partitionRule == .network ? partition : 0
    try producer.warmUp(topics: [topic.name], timeoutMilliseconds: 10_000)
    let isOneValue = number % 2 == 0
    let size = isOneValue ? Self.unpackedBytes : Self.recordBytes
    let value = [UInt8](repeating: 0, count: size)
    for _ in 0..<(isOneValue ? 1 : Self.emptyRecords) {
      try producer.send(topic: topic.name, partition: partition, key: nil, value: value, reportID: 0)
    }
    guard producer.close(timeoutMilliseconds: 60_000) else { throw FaultFailure("a bomb was not answered") }
    return isTaken.withLock { $0 }
  }

  /// Each is a record to decide; of librdkafka it takes a hundred times its bytes.
  private func writeEmptyRecords(to network: FaultNetwork) throws {
    var configuration = network.kafkaConfiguration("empty")
    configuration.lingerMilliseconds = 10_000
    configuration.properties["batch.num.messages"] = "1000000"
    let producer = try KafkaProducer(configuration: configuration) { _ in }
    let topics = Self.topics.filter(\.isWrittenByClients)
    try producer.warmUp(topics: topics.map(\.name), timeoutMilliseconds: 10_000)
    for topic in topics {
      for _ in 0..<Self.emptyRecords {
        try producer.send(
          topic: topic.name, partition: 0, key: nil, value: [], reportID: 0, timeoutMilliseconds: 60_000)
      }
    }
    guard producer.close(timeoutMilliseconds: 60_000) else { throw FaultFailure("not everything was written") }
  }
}
