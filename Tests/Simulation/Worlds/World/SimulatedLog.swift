import Pipeline

/// A topic and partition.
struct LogID: Hashable, Comparable, CustomStringConvertible {
  var topic: String
  var partition: Int32

  static func < (left: LogID, right: LogID) -> Bool {
    (left.topic, left.partition) < (right.topic, right.partition)
  }

  var description: String { "\(topic)[\(partition)]" }
}

/// One record as the broker keeps it.
struct LogRecord {
  var offset: Int64
  /// LogAppendTime, by the broker's clock.
  var timestamp: Int64
  var message: OutgoingMessage
  var contentHash: UInt64
  /// Which device's event it is, where a device sent it.
  var event: Int?
}

/// One partition of a topic: offsets rise, with holes; retention moves its beginning; it can be lost and made anew.
struct PartitionLog {
  /// How often it was made anew.
  var incarnation = 0
  var firstOffset: Int64 = 0
  var endOffset: Int64 = 0
  /// All records ever appended to this incarnation, those that retention removed included.
  var records: [LogRecord] = []
  /// What earlier incarnations held.
  var past: [(records: [LogRecord], endOffset: Int64)] = []
  var lastTimestamp: Int64 = 0

  func records(from offset: Int64, limit: Int) -> ArraySlice<LogRecord> {
    var low = 0
    var high = records.count
    while low < high {
      let middle = (low + high) / 2
      if records[middle].offset < offset { low = middle + 1 } else { high = middle }
    }
    return records[low..<min(records.count, low + limit)]
  }
}

/// The broker: all topics, in memory.
final class SimulatedLog {
  private let time: VirtualTime
  /// How far the broker's clock is off.
  var skewMilliseconds: Int64 = 0
  /// The most that a record's timestamp may lie before the one before it (another leader's clock).
  var regressionMilliseconds: Int64 = 0
  /// In thousandths: how often offsets are left out behind a record, as transaction markers do.
  var holePermille = 0
  private(set) var holeCount = 0
  private(set) var logs: [LogID: PartitionLog] = [:]
  private var counts: [String: Int32] = [:]
  /// Told of each record, before it is there.
  var willAppend: (LogID, OutgoingMessage) -> Void = { _, _ in }

  init(time: VirtualTime) { self.time = time }

  /// Makes a topic, or more partitions of one.
  func create(_ topic: String, partitions: Int32) {
    for partition in partitionCount(topic)..<partitions {
      logs[LogID(topic: topic, partition: partition)] = PartitionLog()
    }
    counts[topic] = partitions
  }

  func partitionCount(_ topic: String) -> Int32 { counts[topic] ?? 0 }

  func has(_ logID: LogID) -> Bool { logs[logID] != nil }

  subscript(logID: LogID) -> PartitionLog { logs[logID] ?? PartitionLog() }

  /// The broker's time.
  var now: Int64 { time.milliseconds + skewMilliseconds }

  /// The timestamp that the next record gets.
  func nextTimestamp(_ logID: LogID) -> Int64 {
    regressionMilliseconds > 0 ? now : max(now, self[logID].lastTimestamp)
  }

  func append(_ message: OutgoingMessage, event: Int? = nil, timestamp: Int64? = nil, using random: inout SeededRandom)
  {
    let logID = LogID(topic: message.topic, partition: message.partition)
    guard logs[logID] != nil else { return }
    willAppend(logID, message)
    var stamp = timestamp ?? nextTimestamp(logID)
    if timestamp == nil, regressionMilliseconds > 0 { stamp -= random.milliseconds(0...regressionMilliseconds) }
    let offset = self[logID].endOffset
    let record = LogRecord(
      offset: offset, timestamp: stamp, message: message,
      contentHash: Self.hash(key: message.key, value: message.value), event: event)
    logs[logID]?.records.append(record)
    logs[logID]?.endOffset = offset + 1
    logs[logID]?.lastTimestamp = stamp
    // At the log's end too, as long as nothing follows.
    if holePermille > 0, random.chance(holePermille) {
      logs[logID]?.endOffset += Int64(random.number(1...3))
      holeCount += 1
    }
  }

  /// Retention: the log begins at `offset` now.
  func removeBefore(_ offset: Int64, in logID: LogID) {
    let first = max(self[logID].firstOffset, min(offset, self[logID].endOffset))
    logs[logID]?.firstOffset = first
  }

  /// The topic was deleted and made again.
  func replace(_ logID: LogID) {
    guard var log = logs[logID] else { return }
    log.past.append((log.records, log.endOffset))
    log.incarnation += 1
    log.firstOffset = 0
    log.endOffset = 0
    log.records = []
    // No record of the new log has the content and the time of one that stood at its offset, wherever the clock is set to.
    log.lastTimestamp += 1
    logs[logID] = log
  }

  func probe(_ logID: LogID, lastOffset: Int64?) -> TopicProbe {
    let log = self[logID]
    var identity: RecordIdentity?
    if let lastOffset, lastOffset >= log.firstOffset, lastOffset < log.endOffset,
      let record = log.records(from: lastOffset, limit: 1).first, record.offset == lastOffset
    {
      identity = RecordIdentity(offset: lastOffset, timestamp: record.timestamp, contentHash: record.contentHash)
    }
    return TopicProbe(firstOffset: log.firstOffset, endOffset: log.endOffset, record: identity)
  }

  static func hash(key: [UInt8]?, value: [UInt8]?) -> UInt64 {
    let keyHash = (key ?? []).withUnsafeBytes { contentHash($0) }
    return (value ?? []).withUnsafeBytes { contentHash($0, seed: keyHash &+ (value == nil ? 1 : 2)) }
  }
}
