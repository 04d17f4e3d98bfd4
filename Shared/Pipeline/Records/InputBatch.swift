public import AdCore
public import AdEvents
package import Records

/// A record's sequence, in a stream that numbers its records.
public enum RecordSequence: Hashable, Sendable {
  /// The record has no number: a client's event, an ask.
  case unnumbered
  /// Dense from 1.
  case number(Int64)
  /// The record is a watermark and nothing else.
  case watermark(Watermark)

  /// It says how far its writer has come, and not that sequences were lost.
  var isPlainWatermark: Bool {
    if case .watermark(let watermark) = self { watermark.firstLostSequence == 0 } else { false }
  }
}

// What stands here with `public` is used by services as `package` is elsewhere: only what is public can be inlined into
// another module, and a record is built where the service's event type is known, or else field by field at run time.

/// One record, decoded, or one event of a record that holds a run of them: these follow each other, and share offset and
/// bytes. `Event` is the service's own union of what its inputs can say, a rejection included.
public struct InputRecord<Event: Sendable>: Sendable {
  /// Which of the service's inputs it came from: an index into ``PipelineService/inputs``.
  public var input: Int
  public var offset: Int64
  /// The log's own timestamp, in milliseconds; with offset and content it identifies the log.
  public var timestamp: Int64
  /// When the broker appended it (or, where the broker does not say, when it was read).
  public var arrival: Timestamp
  public var sequence: RecordSequence
  public var event: Event
  /// ``contentHash(_:seed:)`` of key and value.
  public var contentHash: UInt64
  /// Where the original bytes lie in the batch.
  public var raw: RawRange

  @inlinable
  public init(
    input: Int, offset: Int64, timestamp: Int64, arrival: Timestamp, sequence: RecordSequence, event: Event,
    contentHash: UInt64, raw: RawRange
  ) {
    self.input = input
    self.offset = offset
    self.timestamp = timestamp
    self.arrival = arrival
    self.sequence = sequence
    self.event = event
    self.contentHash = contentHash
    self.raw = raw
  }

  /// What a record says, or one event of its run.
  @inlinable
  public init(_ record: UndecodedRecord, sequence: RecordSequence, event: Event) {
    self.init(
      input: record.input, offset: record.identity.offset, timestamp: record.identity.timestamp,
      arrival: record.arrival, sequence: sequence, event: event, contentHash: record.identity.contentHash,
      raw: record.raw)
  }
}

/// What the pipeline itself needs of a record. It lies apart from the event, whose size only the service knows, so that
/// the pipeline's loops run over plain memory.
public struct RecordHead: Hashable, Sendable {
  public var input: Int
  public var arrival: Timestamp
  public var sequence: RecordSequence
  public var identity: RecordIdentity
  /// Nothing more of the record follows: behind this event the position moves on.
  public var endsRecord: Bool
  /// The mark that it came with: its place among the batch's, from 1; 0 for none.
  public var mark: UInt8 = 0

  @inlinable
  public init(
    input: Int, arrival: Timestamp, sequence: RecordSequence, identity: RecordIdentity, endsRecord: Bool = true
  ) {
    self.input = input
    self.arrival = arrival
    self.sequence = sequence
    self.identity = identity
    self.endsRecord = endsRecord
  }
}

/// Where one record's original bytes stand in ``RawBytes``.
public struct RawRange: Hashable, Sendable {
  public var start: Int
  /// -1 for a record without a key.
  public var keyCount: Int
  /// -1 for a null value.
  public var valueCount: Int
  public var headersCount: Int

  public init(start: Int, keyCount: Int, valueCount: Int, headersCount: Int) {
    self.start = start
    self.keyCount = keyCount
    self.valueCount = valueCount
    self.headersCount = headersCount
  }

  /// Bytes of key, value and headers together.
  package var byteCount: Int { max(keyCount, 0) + max(valueCount, 0) + headersCount }
}

/// The original bytes of a batch's records, one after the other in one buffer: a rejected record is kept as
/// `RedactedRecord` leaves it (A8), and a forwarded one is sent on as it came, but for a key that is no text.
public struct RawBytes: Sendable {
  /// Filled up to `count`; what lies behind is room.
  private var bytes: [UInt8]
  package private(set) var count = 0
  private var open = RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0)

  package init() { bytes = [] }

  /// Starts a record; its headers follow, then ``finish()``.
  package mutating func begin(key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?) {
    open = RawRange(start: count, keyCount: key?.count ?? -1, valueCount: value?.count ?? -1, headersCount: 0)
    if let key { append(key) }
    if let value { append(value) }
  }

  package mutating func addHeader(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    let start = count
    append(length: name.count)
    append(name)
    append(length: value?.count ?? 0)
    if let value { append(value) }
    open.headersCount += count - start
  }

  package mutating func finish() -> RawRange { open }

  /// With the room behind what is filled.
  var capacity: Int { bytes.count }

  package func key(_ range: RawRange) -> [UInt8]? {
    range.keyCount < 0 ? nil : Array(bytes[range.start..<range.start + range.keyCount])
  }

  /// The key where it is UTF-8, else nil: what we write has no other keys.
  package func textKey(_ range: RawRange) -> [UInt8]? {
    key(range).flatMap { String(validating: $0, as: UTF8.self) == nil ? nil : $0 }
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
    withUnsafeBytes(of: UInt32(length).littleEndian) { append($0) }
  }

  private mutating func append(_ source: UnsafeRawBufferPointer) {
    let end = count + source.count
    // From an array, which is copied at once where nothing is optimised; a repetition would come byte by byte.
    if end > bytes.count { bytes.append(contentsOf: [UInt8](repeating: 0, count: max(end - bytes.count, bytes.count))) }
    bytes.withUnsafeMutableBytes { bytes in
      UnsafeMutableRawBufferPointer(rebasing: bytes[count..<end]).copyMemory(from: source)
    }
    count = end
  }

  private func field(at position: inout Int) -> [UInt8] {
    let length = (0..<4).reduce(0) { $0 | Int(bytes[position + $1]) << (8 * $1) }
    defer { position += 4 + length }
    return Array(bytes[position + 4..<position + 4 + length])
  }
}

/// What one partition has to decide next: records of its inputs, in the order in which they were read.
public struct InputBatch<Event: Sendable>: Sendable {
  public var records: [InputRecord<Event>]
  /// One for each record.
  public var heads: [RecordHead]
  public var raw: RawBytes
  /// Per input: the offset after the last one read, holes included, where it moved; nil where nothing was read.
  public var nextOffsets: [Int64?]
  /// What genuine records told of their writers' databases: of each input and timeline the most.
  private(set) var marks: [InputMark] = []
  /// Of the record that is appended now.
  private var recordMark: UInt8 = 0
  /// Something else than how far the writers of its inputs have come.
  private var hasNews = false

  public init(inputCount: Int) {
    records = []
    heads = []
    raw = RawBytes()
    nextOffsets = Array(repeating: nil, count: inputCount)
  }

  /// What a rejected event's detail takes outside of the record, about.
  private static var textBytes: Int { 96 }

  package var size: CollectedSize {
    CollectedSize(records: records.count, bytes: memoryBytes, hasNews: hasNews)
  }

  /// What the batch takes in memory, the room for records to come included.
  package var memoryBytes: Int {
    raw.capacity + records.capacity * MemoryLayout<InputRecord<Event>>.stride
      + heads.capacity * MemoryLayout<RecordHead>.stride + records.count * Self.textBytes
  }

  /// The genuine record of an input that is appended next came with this mark; nil: with none.
  package mutating func note(_ mark: TimelineMark?, input: Int) {
    recordMark = 0
    guard let mark else { return }
    // Nearly always it is the one that the last record named.
    if let index = marks.lastIndex(where: { $0.input == input && $0.told.timeline == mark.timeline }) {
      marks[index].told.sequence = max(marks[index].told.sequence, mark.sequence)
      marks[index].told.batch = max(marks[index].told.batch, mark.batch)
      recordMark = UInt8(index + 1)
    } else if marks.count < InputMark.countMaximum {
      marks.append(InputMark(input: input, told: mark))
      recordMark = UInt8(marks.count)
    }
  }

  /// No input moves.
  var nowhere: [Int64?] { nextOffsets.map { _ in nil } }

  /// Appends a decoded record and moves its input's next offset. Inlinable, so that where the event's type is known
  /// the record is built in its place.
  ///
  /// - Parameter endsRecord: false for an event of a run that is not its last.
  @inlinable
  public mutating func append(_ record: InputRecord<Event>, endsRecord: Bool = true) {
    append(
      RecordHead(
        input: record.input, arrival: record.arrival, sequence: record.sequence,
        identity: RecordIdentity(
          offset: record.offset, timestamp: record.timestamp, contentHash: record.contentHash),
        endsRecord: endsRecord))
    records.append(record)
  }

  /// Appends the events of a run, which are one record.
  ///
  /// - Parameter first: the sequence of the first one.
  @inlinable
  public mutating func append<Content>(
    _ run: [Content], from first: Int64, of record: UndecodedRecord, _ event: (Content) -> Event
  ) {
    for (index, content) in run.enumerated() {
      append(
        InputRecord(record, sequence: .number(first + Int64(index)), event: event(content)),
        endsRecord: index == run.count - 1)
    }
  }

  /// The same records, those of inputs with sequences first, then input after input.
  func ordered(by inputs: [InputDeclaration]) -> InputBatch {
    guard inputs.count > 1 else { return self }
    let order = inputs.indices.sorted { (inputs[$0].isSequenced ? 0 : 1, $0) < (inputs[$1].isSequenced ? 0 : 1, $1) }
    var ranks = inputs.map { _ in 0 }
    for (rank, input) in order.enumerated() { ranks[input] = rank }
    guard zip(heads, heads.dropFirst()).contains(where: { ranks[$0.input] > ranks[$1.input] }) else { return self }
    let indices = order.flatMap { input in heads.indices.filter { heads[$0].input == input } }
    var ordered = self
    ordered.records = indices.map { records[$0] }
    ordered.heads = indices.map { heads[$0] }
    return ordered
  }

  @usableFromInline
  mutating func append(_ head: RecordHead) {
    nextOffsets[head.input] = head.identity.offset + 1
    if !head.sequence.isPlainWatermark { hasNews = true }
    heads.append(head)
    heads[heads.count - 1].mark = recordMark
  }
}

/// What records of one input and timeline told.
struct InputMark: Hashable, Sendable {
  /// More timelines than these no batch has: a person begins each.
  static let countMaximum = 64

  var input: Int
  /// The highest sequence and the highest batch, be they of two records.
  var told: TimelineMark
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
