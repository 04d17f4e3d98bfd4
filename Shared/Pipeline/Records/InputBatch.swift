import AdCore
import AdEvents

/// Where a record stands in a stream that numbers its records.
package enum SequenceMark: Hashable, Sendable {
  /// The record has no number: a client's event, an ask.
  case unnumbered
  /// The record's place: dense from 1.
  case number(Int64)
  /// The record is a watermark and nothing else.
  case watermark(Watermark)
}

/// One record, decoded. `Event` is the service's own union of what its inputs can say, a rejection included.
package struct InputRecord<Event: Sendable>: Sendable {
  /// Which of the service's inputs it came from: an index into ``PipelineService/inputs``.
  package var input: Int
  package var offset: Int64
  /// The log's own timestamp, in milliseconds; with offset and content it identifies the log.
  package var timestamp: Int64
  /// When the broker appended it (or, where the broker does not say, when it was read).
  package var arrival: Timestamp
  package var mark: SequenceMark
  package var event: Event
  /// ``contentHash(_:seed:)`` of key and value.
  package var contentHash: UInt64
  /// Where the original bytes lie in the batch.
  package var raw: RawRange

  package init(
    input: Int, offset: Int64, timestamp: Int64, arrival: Timestamp, mark: SequenceMark, event: Event,
    contentHash: UInt64, raw: RawRange
  ) {
    self.input = input
    self.offset = offset
    self.timestamp = timestamp
    self.arrival = arrival
    self.mark = mark
    self.event = event
    self.contentHash = contentHash
    self.raw = raw
  }
}

/// The place of one record's original bytes in ``RawBytes``.
package struct RawRange: Hashable, Sendable {
  package var start: Int
  /// -1 for a record without a key.
  package var keyCount: Int
  /// -1 for a null value.
  package var valueCount: Int
  package var headersCount: Int

  package init(start: Int, keyCount: Int, valueCount: Int, headersCount: Int) {
    self.start = start
    self.keyCount = keyCount
    self.valueCount = valueCount
    self.headersCount = headersCount
  }
}

/// A header of a record.
package struct RecordHeader: Hashable, Sendable {
  package var name: [UInt8]
  package var value: [UInt8]

  package init(name: [UInt8], value: [UInt8]) {
    self.name = name
    self.value = value
  }

  package init(_ name: StaticString, _ value: [UInt8]) {
    self.name = name.withUTF8Buffer { Array($0) }
    self.value = value
  }
}

/// The original bytes of a batch's records, one after the other in one buffer: a rejected record is kept as it came and
/// a forwarded one is sent on as it came.
package struct RawBytes: Sendable {
  private var bytes: [UInt8] = []
  private var open = RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0)

  package init() {}

  package var count: Int { bytes.count }

  /// Starts a record; its headers follow, then ``finish()``.
  package mutating func begin(key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?) {
    open = RawRange(start: bytes.count, keyCount: key?.count ?? -1, valueCount: value?.count ?? -1, headersCount: 0)
    if let key { bytes.append(contentsOf: key) }
    if let value { bytes.append(contentsOf: value) }
  }

  package mutating func addHeader(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    let start = bytes.count
    append(length: name.count)
    bytes.append(contentsOf: name)
    append(length: value?.count ?? 0)
    if let value { bytes.append(contentsOf: value) }
    open.headersCount += bytes.count - start
  }

  package mutating func finish() -> RawRange { open }

  package func key(_ range: RawRange) -> [UInt8]? {
    range.keyCount < 0 ? nil : Array(bytes[range.start..<range.start + range.keyCount])
  }

  package func value(_ range: RawRange) -> ArraySlice<UInt8>? {
    guard range.valueCount >= 0 else { return nil }
    let start = range.start + max(range.keyCount, 0)
    return bytes[start..<start + range.valueCount]
  }

  package func headers(_ range: RawRange) -> [RecordHeader] {
    var position = range.start + max(range.keyCount, 0) + max(range.valueCount, 0)
    let end = position + range.headersCount
    var headers: [RecordHeader] = []
    while position < end {
      let name = field(at: &position)
      headers.append(RecordHeader(name: name, value: field(at: &position)))
    }
    return headers
  }

  private mutating func append(length: Int) {
    withUnsafeBytes(of: UInt32(length).littleEndian) { bytes.append(contentsOf: $0) }
  }

  private func field(at position: inout Int) -> [UInt8] {
    let length = (0..<4).reduce(0) { $0 | Int(bytes[position + $1]) << (8 * $1) }
    defer { position += 4 + length }
    return Array(bytes[position + 4..<position + 4 + length])
  }
}

/// What one partition has to decide next: records of its inputs, in the order in which they were read.
package struct InputBatch<Event: Sendable>: Sendable {
  package var records: [InputRecord<Event>]
  package var raw: RawBytes
  /// Per input: the offset after the last one read, holes included, where it moved; nil where nothing was read.
  package var nextOffsets: [Int64?]
  /// Per input: whether the log's end was reached behind the last record.
  package var isAtEnd: [Bool]

  package init(inputCount: Int) {
    records = []
    raw = RawBytes()
    nextOffsets = Array(repeating: nil, count: inputCount)
    isAtEnd = Array(repeating: false, count: inputCount)
  }

  package var isEmpty: Bool { records.isEmpty && nextOffsets.allSatisfy { $0 == nil } }

  /// Appends a decoded record and moves its input's next offset.
  package mutating func append(_ record: InputRecord<Event>) {
    nextOffsets[record.input] = record.offset + 1
    isAtEnd[record.input] = false
    records.append(record)
  }
}

/// A fast 64-bit hash (multiply and fold) over bytes: identifies a record's content within one log; no protection
/// against somebody who wants a collision, and none is needed.
package func contentHash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
  var state: UInt64 = 0x9E37_79B9_7F4A_7C15
  func mix(_ word: UInt64) {
    let product = (state ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
    state = product.high ^ product.low
  }
  // A round of their own for seed and length: else a bit of the content could stand in for them.
  mix(seed)
  var position = 0
  while position + 8 <= bytes.count {
    mix(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self).littleEndian)
    position += 8
  }
  var tail: UInt64 = 0
  while position < bytes.count {
    tail = tail << 8 | UInt64(bytes[position])
    position += 1
  }
  mix(tail)
  mix(UInt64(bytes.count))
  return state
}
