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

extension InputBatch {
  /// Appends a record of the log as a reader does.
  ///
  /// - Parameter change: what a sabotaged reader makes of the record's mark.
  mutating func append(
    _ record: LogRecord, input: Int, with decoder: inout some RecordDecoder<Event>,
    change: (SequenceMark) -> SequenceMark = { $0 }
  ) {
    let message = record.message
    let arrival = Timestamp(milliseconds: record.timestamp)
    decoder.begin()
    withOptionalBytes(message.key) { key in withOptionalBytes(message.value) { raw.begin(key: key, value: $0) } }
    for header in message.headers {
      header.withUnsafeBytes { name, value in
        decoder.header(name: name, value: value)
        raw.addHeader(name: name, value: value)
      }
    }
    let decoded = withOptionalBytes(message.value) { decoder.decode(input: input, value: $0, arrival: arrival) }
    append(
      InputRecord(
        input: input, offset: record.offset, timestamp: record.timestamp, arrival: arrival, mark: change(decoded.mark),
        event: decoded.event, contentHash: record.contentHash, raw: raw.finish()))
  }
}

@discardableResult
private func withOptionalBytes<Result>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
  guard let bytes else { return body(nil) }
  // An empty array has no address; an empty value is not a null one.
  return bytes.isEmpty ? body(UnsafeRawBufferPointer(start: nil, count: 0)) : bytes.withUnsafeBytes { body($0) }
}
