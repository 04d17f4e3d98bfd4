import AdCore
import AdEvents
import Pipeline
import Records

/// Kafka's consumer: reads the partitions that it was assigned, each from its position on.
struct SimulatedConsumer {
  struct Position {
    var offset: Int64
    var incarnation: Int
  }

  private var positions: [Int32: [Position]] = [:]
  private var paused: Set<Int32> = []

  /// - Parameter isKeeping: what it reads already it reads on from where it is.
  mutating func assign(_ offsets: [Int32: [Int64]], incarnations: [Int32: [Int]], isKeeping: Bool) {
    paused = []
    let earlier = positions
    positions = [:]
    for (partition, offsets) in offsets {
      let logs = incarnations[partition] ?? []
      positions[partition] = zip(offsets, logs).map { Position(offset: $0, incarnation: $1) }
      if isKeeping, let earlier = earlier[partition] { positions[partition] = earlier }
    }
  }

  mutating func pause(_ partition: Int32, _ isPaused: Bool) {
    if isPaused { paused.insert(partition) } else { paused.remove(partition) }
  }

  /// Nil for a partition that is not read.
  func position(of partition: Int32, input: Int) -> Position? {
    paused.contains(partition) ? nil : positions[partition]?[input]
  }

  mutating func advance(_ partition: Int32, input: Int, to offset: Int64) {
    positions[partition]?[input].offset = offset
  }
}

extension RecordInput {
  /// Takes a record of the log as a reader does.
  ///
  /// - Parameter change: what a sabotaged reader makes of the marks of its events.
  mutating func take(
    _ record: LogRecord, input: Int, into batch: inout InputBatch<Service.Event>,
    change: (RecordSequence) -> RecordSequence = { $0 }
  ) {
    let message = record.message
    let before = batch.records.count
    withOptionalBytes(message.key) { key in
      withOptionalBytes(message.value) { value in
        begin(input: input, key: key, value: value, into: &batch)
        for header in message.headers {
          header.withUnsafeBytes { self.header(name: $0, value: $1, into: &batch) }
        }
        finish(
          partition: message.partition, arrival: Timestamp(milliseconds: record.timestamp),
          identity: RecordIdentity(
            offset: record.offset, timestamp: record.timestamp, contentHash: record.contentHash),
          key: key, value: value, into: &batch)
      }
    }
    for index in before..<batch.records.count {
      batch.records[index].sequence = change(batch.records[index].sequence)
      batch.heads[index].sequence = change(batch.heads[index].sequence)
    }
  }
}
